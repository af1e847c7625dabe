CREATE TABLE "pdf_templates" (
	"id" text PRIMARY KEY NOT NULL,
	"nome" text NOT NULL,
	"template" text NOT NULL,
	"esempio" jsonb,
	"variabili" text[] NOT NULL,
	"versione" integer DEFAULT 1 NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"updated_at" timestamp (3) with time zone DEFAULT now() NOT NULL
);
