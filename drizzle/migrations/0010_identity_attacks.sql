ALTER TABLE "sessions" ADD COLUMN "repeats" integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE "sessions" ADD COLUMN "repeats_day" integer DEFAULT 0 NOT NULL;--> statement-breakpoint
-- Nobody is in an account whose address nobody has proven: earlier versions let one take over such an address.
DELETE FROM "sessions" USING "users" WHERE "users"."id" = "sessions"."user_id" AND "users"."email_confirmed_at" IS NULL;
--> statement-breakpoint
UPDATE "api_keys" SET "revoked_at" = now() FROM "users"
WHERE "users"."id" = "api_keys"."user_id" AND "users"."email_confirmed_at" IS NULL AND "api_keys"."revoked_at" IS NULL;
