CREATE TABLE "lettere_benvenuto" (
	"id" integer PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "lettere_benvenuto_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 2147483647 START WITH 1 CACHE 1),
	"prenotazione_id" integer NOT NULL,
	"nome_ospite" text NOT NULL,
	"lingua" text NOT NULL,
	"pdf" uuid NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "lettere_benvenuto_prenotazione" UNIQUE("prenotazione_id"),
	CONSTRAINT "lettere_benvenuto_pdf_unique" UNIQUE("pdf")
);
--> statement-breakpoint
CREATE TABLE "struttura" (
	"id" integer PRIMARY KEY DEFAULT 1 NOT NULL,
	"nome" text,
	"motto" text,
	"indirizzo" text,
	"luogo" text,
	"telefono" text,
	"email" text,
	"cin" text,
	"firma" text,
	"colore" text,
	"wifi_rete" text,
	"wifi_password" "bytea",
	"ora_check_in" text,
	"ora_check_out" text,
	"colazione" text,
	"regole" text,
	"versione" integer DEFAULT 0 NOT NULL,
	"updated_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "struttura_una" CHECK ("struttura"."id" = 1)
);
--> statement-breakpoint
ALTER TABLE "lettere_benvenuto" ADD CONSTRAINT "lettere_benvenuto_prenotazione_id_prenotazioni_id_fk" FOREIGN KEY ("prenotazione_id") REFERENCES "public"."prenotazioni"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "lettere_benvenuto" ADD CONSTRAINT "lettere_benvenuto_pdf_generated_pdfs_id_fk" FOREIGN KEY ("pdf") REFERENCES "public"."generated_pdfs"("id") ON DELETE cascade ON UPDATE no action;