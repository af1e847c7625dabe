CREATE TABLE "generated_pdfs" (
	"id" uuid PRIMARY KEY DEFAULT gen_random_uuid() NOT NULL,
	"numero" integer GENERATED ALWAYS AS IDENTITY (sequence name "generated_pdfs_numero_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 2147483647 START WITH 1 CACHE 1),
	"tipo" text NOT NULL,
	"utente" text,
	"template_id" text,
	"nome" text NOT NULL,
	"stato" text DEFAULT 'completato' NOT NULL,
	"bucket" text NOT NULL,
	"oggetto" text NOT NULL,
	"prenotazione_id" integer,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "generated_pdfs_numero_unique" UNIQUE("numero")
);
--> statement-breakpoint
ALTER TABLE "generated_pdfs" ADD CONSTRAINT "generated_pdfs_prenotazione_id_prenotazioni_id_fk" FOREIGN KEY ("prenotazione_id") REFERENCES "public"."prenotazioni"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "generated_pdfs" ADD CONSTRAINT "generated_pdfs_file" FOREIGN KEY ("bucket","oggetto") REFERENCES "public"."objects"("bucket","name") ON DELETE cascade ON UPDATE cascade;--> statement-breakpoint
CREATE INDEX "generated_pdfs_file_idx" ON "generated_pdfs" USING btree ("bucket","oggetto");--> statement-breakpoint
CREATE INDEX "generated_pdfs_utente" ON "generated_pdfs" USING btree ("utente","numero");--> statement-breakpoint
CREATE INDEX "generated_pdfs_prenotazione" ON "generated_pdfs" USING btree ("prenotazione_id");