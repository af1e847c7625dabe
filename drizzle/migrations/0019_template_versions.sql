CREATE TABLE "pdf_template_versions" (
	"id" text NOT NULL,
	"versione" integer NOT NULL,
	"nome" text NOT NULL,
	"template" text NOT NULL,
	"esempio" jsonb,
	"variabili" text[] NOT NULL,
	"updated_at" timestamp (3) with time zone NOT NULL,
	CONSTRAINT "pdf_template_versions_id_versione_pk" PRIMARY KEY("id","versione")
);
--> statement-breakpoint
ALTER TABLE "pdf_templates" ADD COLUMN "deleted_at" timestamp (3) with time zone;--> statement-breakpoint
ALTER TABLE "pdf_template_versions" ADD CONSTRAINT "pdf_template_versions_id_pdf_templates_id_fk" FOREIGN KEY ("id") REFERENCES "public"."pdf_templates"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
INSERT INTO "pdf_template_versions" SELECT "id", "versione", "nome", "template", "esempio", "variabili", "updated_at" FROM "pdf_templates";
