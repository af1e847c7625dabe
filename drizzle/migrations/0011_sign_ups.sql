ALTER TABLE "flow_states" ADD COLUMN "password_hash" text;--> statement-breakpoint
ALTER TABLE "users" ADD COLUMN "password_browser" "bytea";--> statement-breakpoint
CREATE INDEX "users_imported_hash" ON "users" USING btree ("id") WHERE "users"."password_hash" not like '$argon2id$v=19$m=19456,t=2,p=1$%';--> statement-breakpoint
-- Nobody knows in which browsers these were chosen.
UPDATE "users" SET "password_hash" = NULL WHERE "email_confirmed_at" IS NULL AND "app_metadata" ->> 'role' = 'pending';
