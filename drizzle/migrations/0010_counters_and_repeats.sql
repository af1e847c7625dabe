CREATE TABLE "counters" (
	"name" text NOT NULL,
	"subject" "bytea" NOT NULL,
	"count" integer NOT NULL,
	"ends_at" timestamp (3) with time zone NOT NULL,
	CONSTRAINT "counters_name_subject_pk" PRIMARY KEY("name","subject")
);
--> statement-breakpoint
ALTER TABLE "flow_states" ADD COLUMN "password_hash" text;--> statement-breakpoint
ALTER TABLE "sessions" ADD COLUMN "provider" text;--> statement-breakpoint
ALTER TABLE "sessions" ADD COLUMN "repeats" integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE "sessions" ADD COLUMN "repeats_day" integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE "users" ADD COLUMN "password_browser" "bytea";--> statement-breakpoint
CREATE INDEX "counters_ends_at" ON "counters" USING btree ("ends_at");--> statement-breakpoint
CREATE INDEX "users_imported_hash" ON "users" USING btree ("id") WHERE "users"."password_hash" not like '$argon2id$v=19$m=19456,t=2,p=1$%';