CREATE TABLE "allarmi" (
	"argomento" text NOT NULL,
	"giorno" date NOT NULL,
	"quando" timestamp(3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "allarmi_argomento_giorno_pk" PRIMARY KEY("argomento","giorno")
);
--> statement-breakpoint
CREATE TABLE "invii_cancellazioni" (
	"invio_id" integer PRIMARY KEY NOT NULL,
	"righe" integer NOT NULL,
	"quando" timestamp(3) with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "invii_conferme" (
	"invio_id" integer PRIMARY KEY NOT NULL,
	"chi" text NOT NULL,
	"motivo" text NOT NULL,
	"precedenti" text[] NOT NULL,
	"quando" timestamp(3) with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "invii_conteggi" (
	"utente" text NOT NULL,
	"stato" text NOT NULL,
	"quanti" integer NOT NULL,
	CONSTRAINT "invii_conteggi_utente_stato_pk" PRIMARY KEY("utente","stato")
);
--> statement-breakpoint
CREATE TABLE "invii_correzioni" (
	"id" integer PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "invii_correzioni_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 2147483647 START WITH 1 CACHE 1),
	"invio_id" integer NOT NULL,
	"indice" integer,
	"chi" text NOT NULL,
	"motivo" text NOT NULL,
	"protocollo" text,
	"quando" timestamp(3) with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
DROP INDEX "invii_un_volo";--> statement-breakpoint
DROP INDEX "invii_schedine_una_volta";--> statement-breakpoint
ALTER TABLE "invii_schedine" ALTER COLUMN "riga" DROP NOT NULL;--> statement-breakpoint
ALTER TABLE "invii" ADD COLUMN "sigillo" "bytea";--> statement-breakpoint
ALTER TABLE "invii_decisioni" ADD COLUMN "sigillo" "bytea";--> statement-breakpoint
ALTER TABLE "invii_esiti" ADD COLUMN "sigillo" "bytea";--> statement-breakpoint
ALTER TABLE "invii_schedine" ADD COLUMN "prenotazione_id" integer;--> statement-breakpoint
ALTER TABLE "invii_schedine" ADD COLUMN "impronta_persona" "bytea";--> statement-breakpoint
ALTER TABLE "invii_schedine" ADD COLUMN "impronta_documento" "bytea";--> statement-breakpoint
ALTER TABLE "invii_schedine" ADD COLUMN "confermata" boolean DEFAULT false NOT NULL;--> statement-breakpoint
ALTER TABLE "invii_schedine" ADD COLUMN "sigillo" "bytea";--> statement-breakpoint
ALTER TABLE "invii_tentativi" ADD COLUMN "sigillo" "bytea";--> statement-breakpoint
ALTER TABLE "idempotency_keys" ADD COLUMN "headers" jsonb;--> statement-breakpoint
ALTER TABLE "idempotency_keys" ADD COLUMN "reference" text;--> statement-breakpoint
ALTER TABLE "invii_cancellazioni" ADD CONSTRAINT "invii_cancellazioni_invio_id_invii_id_fk" FOREIGN KEY ("invio_id") REFERENCES "public"."invii"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "invii_conferme" ADD CONSTRAINT "invii_conferme_invio_id_invii_id_fk" FOREIGN KEY ("invio_id") REFERENCES "public"."invii"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "invii_correzioni" ADD CONSTRAINT "invii_correzioni_invio_id_invii_id_fk" FOREIGN KEY ("invio_id") REFERENCES "public"."invii"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "invii_correzioni_invio" ON "invii_correzioni" USING btree ("invio_id");--> statement-breakpoint
CREATE INDEX "invii_arrivo" ON "invii" USING btree ("data_arrivo");--> statement-breakpoint
CREATE INDEX "invii_stato" ON "invii" USING btree ("stato","id");--> statement-breakpoint
CREATE INDEX "invii_esiti_tentativo" ON "invii_esiti" USING btree ("invio_id","numero");--> statement-breakpoint
CREATE UNIQUE INDEX "invii_schedine_una_persona" ON "invii_schedine" USING btree ("utente","impronta_persona") WHERE "invii_schedine"."esito" in ('in_corso', 'acquisita', 'sconosciuta', 'depositata') and not "invii_schedine"."confermata";--> statement-breakpoint
CREATE UNIQUE INDEX "invii_schedine_un_documento" ON "invii_schedine" USING btree ("utente","impronta_documento") WHERE "invii_schedine"."esito" in ('in_corso', 'acquisita', 'sconosciuta', 'depositata') and not "invii_schedine"."confermata";--> statement-breakpoint
CREATE INDEX "invii_schedine_prenotazione" ON "invii_schedine" USING btree ("prenotazione_id");--> statement-breakpoint
CREATE UNIQUE INDEX "invii_un_volo" ON "invii" USING btree ("utente") WHERE "invii"."stato" in ('in_invio');--> statement-breakpoint
CREATE UNIQUE INDEX "invii_schedine_una_volta" ON "invii_schedine" USING btree ("utente","impronta_identita") WHERE "invii_schedine"."esito" in ('in_corso', 'acquisita', 'sconosciuta', 'depositata') and not "invii_schedine"."confermata";