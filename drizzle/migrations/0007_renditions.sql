-- The bucket of cached renditions of images. Clients cannot name it, because bucket names begin with a letter or digit.
INSERT INTO buckets (id, public) VALUES ('.renditions', false);
--> statement-breakpoint
-- The renditions of a content are called `<id>/…`. They are discarded with it: `0` is the character after `/`.
CREATE FUNCTION objects_renditions () RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  WITH gone AS (
    DELETE FROM objects WHERE bucket = '.renditions'
      AND name COLLATE "C" > (OLD.id::text || '/') COLLATE "C" AND name COLLATE "C" < (OLD.id::text || '0') COLLATE "C"
    RETURNING id
  )
  INSERT INTO discarded_files (id, next_attempt_at) SELECT id, date_trunc('milliseconds', now()) FROM gone
    ON CONFLICT DO NOTHING;
  RETURN NULL;
END
$$;
--> statement-breakpoint
CREATE TRIGGER objects_renditions_deleted AFTER DELETE ON objects FOR EACH ROW
  WHEN (OLD.bucket <> '.renditions') EXECUTE FUNCTION objects_renditions();
--> statement-breakpoint
CREATE TRIGGER objects_renditions_replaced AFTER UPDATE OF id ON objects FOR EACH ROW
  WHEN (OLD.id IS DISTINCT FROM NEW.id AND OLD.bucket <> '.renditions') EXECUTE FUNCTION objects_renditions();
