CREATE TABLE "counters" (
	"name" text NOT NULL,
	"subject" "bytea" NOT NULL,
	"count" integer NOT NULL,
	"ends_at" timestamp (3) with time zone NOT NULL,
	CONSTRAINT "counters_name_subject_pk" PRIMARY KEY("name","subject")
);
--> statement-breakpoint
CREATE INDEX "counters_ends_at" ON "counters" USING btree ("ends_at");