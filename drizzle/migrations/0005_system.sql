CREATE TABLE "prenotazioni_per_paese" (
	"paese_id" integer PRIMARY KEY NOT NULL,
	"totale" integer NOT NULL
);
--> statement-breakpoint
CREATE TABLE "jobs" (
	"name" text PRIMARY KEY NOT NULL,
	"cron" text NOT NULL,
	"next_run_at" timestamp(3) with time zone NOT NULL,
	"started_at" timestamp(3) with time zone,
	"finished_at" timestamp(3) with time zone,
	"outcome" text,
	"error" text,
	"claimed_by" text,
	"lease_until" timestamp(3) with time zone
);
--> statement-breakpoint
CREATE TABLE "feature_flags" (
	"key" text PRIMARY KEY NOT NULL,
	"enabled" boolean NOT NULL,
	"updated_at" timestamp(3) with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "maintenance" (
	"id" integer PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "maintenance_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 2147483647 START WITH 1 CACHE 1),
	"message" text,
	"allow" text[] DEFAULT '{}' NOT NULL,
	"since" timestamp(3) with time zone DEFAULT now() NOT NULL,
	"begun_by" text NOT NULL,
	"ended_at" timestamp(3) with time zone,
	"ended_by" text
);
--> statement-breakpoint
ALTER TABLE "mails" ADD COLUMN "reply" text;--> statement-breakpoint
CREATE INDEX "prenotazioni_per_paese_totale" ON "prenotazioni_per_paese" USING btree ("totale" DESC NULLS LAST,"paese_id");--> statement-breakpoint
CREATE UNIQUE INDEX "maintenance_open" ON "maintenance" USING btree ((true)) WHERE "maintenance"."ended_at" is null;--> statement-breakpoint
CREATE INDEX "prenotazioni_check_out" ON "prenotazioni" USING btree ("check_out");