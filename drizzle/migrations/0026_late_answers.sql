CREATE TABLE "forgotten_answers" (
	"id" integer PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "forgotten_answers_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 2147483647 START WITH 1 CACHE 1),
	"locations" text[] NOT NULL,
	"said" text,
	"names" text[] NOT NULL,
	"reusable" boolean NOT NULL,
	"forgotten_at" timestamp with time zone DEFAULT clock_timestamp() NOT NULL
);
