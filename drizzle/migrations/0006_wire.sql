ALTER TABLE "objects" ADD COLUMN "object_id" uuid;--> statement-breakpoint
UPDATE "objects" SET "object_id" = "id";--> statement-breakpoint
ALTER TABLE "objects" ALTER COLUMN "object_id" SET DEFAULT gen_random_uuid();--> statement-breakpoint
ALTER TABLE "objects" ALTER COLUMN "object_id" SET NOT NULL;--> statement-breakpoint
-- A row takes a new id with new content. The previous file is discarded in the same transaction.
CREATE FUNCTION objects_replaced () RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO discarded_files (id, next_attempt_at) VALUES (OLD.id, date_trunc('milliseconds', now()))
    ON CONFLICT DO NOTHING;
  RETURN NULL;
END
$$;
--> statement-breakpoint
CREATE TRIGGER objects_replaced AFTER UPDATE OF id ON objects FOR EACH ROW
  WHEN (OLD.id IS DISTINCT FROM NEW.id) EXECUTE FUNCTION objects_replaced();
--> statement-breakpoint
-- Only a role gives rights. People without one were created or invited by an administrator, and had an operator's.
UPDATE users SET app_metadata = app_metadata || '{"role": "operator"}'
WHERE deleted_at IS NULL AND coalesce(app_metadata ->> 'role', '') = '' AND app_metadata ->> 'roles' IS NULL;
