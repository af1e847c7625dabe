CREATE TABLE "account_polizia" (
	"utente" text PRIMARY KEY NOT NULL,
	"canale_esclusivo" boolean DEFAULT false NOT NULL
);
--> statement-breakpoint
CREATE TABLE "codici_tabelle" (
	"nome" text PRIMARY KEY NOT NULL,
	"csv" text NOT NULL,
	"sha256" text NOT NULL,
	"scaricata_il" timestamp(3) with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "invii" (
	"id" integer PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "invii_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 2147483647 START WITH 1 CACHE 1),
	"ricevuta" text NOT NULL,
	"utente" text NOT NULL,
	"operatore" text NOT NULL,
	"metodo" text NOT NULL,
	"id_appartamento" integer,
	"prenotazione_id" integer,
	"data_arrivo" date NOT NULL,
	"permanenza" integer NOT NULL,
	"scadenza" timestamp(3) with time zone NOT NULL,
	"stato" text NOT NULL,
	"versione" integer DEFAULT 0 NOT NULL,
	"tentativo" integer DEFAULT 0 NOT NULL,
	"proprietario" text,
	"lease_fino_al" timestamp(3) with time zone NOT NULL,
	"nota" text,
	"creato_il" timestamp(3) with time zone DEFAULT now() NOT NULL,
	"aggiornato_il" timestamp(3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "invii_ricevuta_unique" UNIQUE("ricevuta")
);
--> statement-breakpoint
CREATE TABLE "invii_decisioni" (
	"id" integer PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "invii_decisioni_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 2147483647 START WITH 1 CACHE 1),
	"invio_id" integer NOT NULL,
	"versione" integer NOT NULL,
	"decisione" text NOT NULL,
	"chi" text NOT NULL,
	"motivo" text NOT NULL,
	"protocollo" text,
	"quando" timestamp(3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "invii_decisioni_una" UNIQUE("invio_id","versione")
);
--> statement-breakpoint
CREATE TABLE "invii_esiti" (
	"id" integer PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "invii_esiti_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 2147483647 START WITH 1 CACHE 1),
	"invio_id" integer NOT NULL,
	"numero" integer NOT NULL,
	"esito" text NOT NULL,
	"fonte" text NOT NULL,
	"schedine" integer DEFAULT 0 NOT NULL,
	"notti" integer DEFAULT 0 NOT NULL,
	"http_status" integer,
	"errore" text,
	"risposta" "bytea",
	"registrato_il" timestamp(3) with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "invii_numerazione" (
	"giorno" date PRIMARY KEY NOT NULL,
	"ultimo" integer NOT NULL
);
--> statement-breakpoint
CREATE TABLE "invii_schedine" (
	"invio_id" integer NOT NULL,
	"indice" integer NOT NULL,
	"capo" integer NOT NULL,
	"utente" text NOT NULL,
	"riga" "bytea" NOT NULL,
	"permanenza" integer NOT NULL,
	"impronta_contenuto" "bytea" NOT NULL,
	"impronta_identita" "bytea" NOT NULL,
	"esito" text NOT NULL,
	"codice_errore" text,
	"messaggio_soap" text,
	"dettaglio" text,
	CONSTRAINT "invii_schedine_invio_id_indice_pk" PRIMARY KEY("invio_id","indice")
);
--> statement-breakpoint
CREATE TABLE "invii_sospensioni" (
	"id" integer PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "invii_sospensioni_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 2147483647 START WITH 1 CACHE 1),
	"motivo" text NOT NULL,
	"chi" text NOT NULL,
	"dal" timestamp(3) with time zone DEFAULT now() NOT NULL,
	"tolta_da" text,
	"tolta_il" timestamp(3) with time zone
);
--> statement-breakpoint
CREATE TABLE "invii_tentativi" (
	"invio_id" integer NOT NULL,
	"numero" integer NOT NULL,
	"base" text NOT NULL,
	"inviato_il" timestamp(3) with time zone NOT NULL,
	"consegna_entro" timestamp(3) with time zone NOT NULL,
	"giorno_da" date NOT NULL,
	"giorno_a" date NOT NULL,
	"schedine" integer NOT NULL,
	"notti" integer NOT NULL,
	"impronta_richiesta" "bytea" NOT NULL,
	CONSTRAINT "invii_tentativi_invio_id_numero_pk" PRIMARY KEY("invio_id","numero")
);
--> statement-breakpoint
CREATE TABLE "invii_transizioni" (
	"id" integer PRIMARY KEY NOT NULL,
	"invio_id" integer NOT NULL,
	"da" text,
	"a" text NOT NULL,
	"chi" text NOT NULL,
	"perche" text NOT NULL,
	"quando" timestamp(3) with time zone NOT NULL,
	"hash" "bytea" NOT NULL
);
--> statement-breakpoint
CREATE TABLE "invii_transizioni_ammesse" (
	"da" text NOT NULL,
	"a" text NOT NULL,
	"serve" text,
	CONSTRAINT "invii_transizioni_ammesse_da_a_pk" PRIMARY KEY("da","a")
);
--> statement-breakpoint
CREATE TABLE "ricevute" (
	"utente" text NOT NULL,
	"giorno" date NOT NULL,
	"pdf" "bytea" NOT NULL,
	"sha256" text NOT NULL,
	"schedine" integer,
	"notti" integer,
	"scaricata_il" timestamp(3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "ricevute_utente_giorno_pk" PRIMARY KEY("utente","giorno")
);
--> statement-breakpoint
CREATE TABLE "ricevute_letture" (
	"id" integer PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "ricevute_letture_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 2147483647 START WITH 1 CACHE 1),
	"utente" text NOT NULL,
	"giorno" date NOT NULL,
	"letta_il" timestamp(3) with time zone DEFAULT now() NOT NULL,
	"sha256" text,
	"schedine" integer,
	"notti" integer
);
--> statement-breakpoint
CREATE TABLE "sandbox_appartamenti" (
	"utente" text NOT NULL,
	"id" integer NOT NULL,
	"descrizione" text NOT NULL,
	"comune_codice" text NOT NULL,
	"indirizzo" text NOT NULL,
	"proprietario" text NOT NULL,
	"disabilitato_il" timestamp(3) with time zone,
	CONSTRAINT "sandbox_appartamenti_chiave" UNIQUE("utente","id")
);
--> statement-breakpoint
CREATE TABLE "sandbox_schedine" (
	"id" integer PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "sandbox_schedine_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 2147483647 START WITH 1 CACHE 1),
	"utente" text NOT NULL,
	"id_appartamento" integer,
	"riga" text NOT NULL,
	"permanenza" integer NOT NULL,
	"giorno" date NOT NULL,
	"acquisita_il" timestamp(3) with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "sandbox_token" (
	"token" text PRIMARY KEY NOT NULL,
	"utente" text NOT NULL,
	"scade_il" timestamp(3) with time zone NOT NULL
);
--> statement-breakpoint
CREATE TABLE "ospiti" (
	"id" integer PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "ospiti_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 2147483647 START WITH 1 CACHE 1),
	"prenotazione_id" integer NOT NULL,
	"indice" integer NOT NULL,
	"nome" text NOT NULL,
	"cognome" text NOT NULL,
	"sesso" text,
	"data_nascita" date,
	"luogo_nascita" text,
	"cittadinanza" text,
	"tipo_documento" text,
	"numero_documento" text,
	"luogo_rilascio" text,
	"tipo_alloggiato" text,
	"comune_nascita" text,
	"provincia_nascita" text,
	"stato_nascita" text,
	CONSTRAINT "ospiti_prenotazione_indice" UNIQUE("prenotazione_id","indice")
);
--> statement-breakpoint
CREATE TABLE "prenotazioni" (
	"id" integer PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "prenotazioni_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 2147483647 START WITH 1 CACHE 1),
	"nome_cognome" text NOT NULL,
	"lingua" text NOT NULL,
	"email" text,
	"telefono" text,
	"paese_id" integer NOT NULL,
	"check_in" date NOT NULL,
	"check_out" date NOT NULL,
	"numero_notti" integer GENERATED ALWAYS AS (check_out - check_in) STORED NOT NULL,
	"numero_ospiti" integer NOT NULL,
	"idf_gen" text,
	"created_at" timestamp(3) with time zone DEFAULT now() NOT NULL,
	"updated_at" timestamp(3) with time zone DEFAULT now() NOT NULL,
	"versione" integer DEFAULT 1 NOT NULL,
	CONSTRAINT "prenotazioni_partenza_dopo_arrivo" CHECK ("prenotazioni"."check_out" > "prenotazioni"."check_in"),
	CONSTRAINT "prenotazioni_numero_ospiti_positivo" CHECK ("prenotazioni"."numero_ospiti" > 0)
);
--> statement-breakpoint
CREATE TABLE "idempotency_keys" (
	"principal" text NOT NULL,
	"key" text NOT NULL,
	"fingerprint" text NOT NULL,
	"status" integer,
	"body" text,
	"created_at" timestamp with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "idempotency_keys_principal_key_pk" PRIMARY KEY("principal","key")
);
--> statement-breakpoint
ALTER TABLE "invii_decisioni" ADD CONSTRAINT "invii_decisioni_invio_id_invii_id_fk" FOREIGN KEY ("invio_id") REFERENCES "public"."invii"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "invii_esiti" ADD CONSTRAINT "invii_esiti_invio_id_numero_invii_tentativi_invio_id_numero_fk" FOREIGN KEY ("invio_id","numero") REFERENCES "public"."invii_tentativi"("invio_id","numero") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "invii_schedine" ADD CONSTRAINT "invii_schedine_invio_id_invii_id_fk" FOREIGN KEY ("invio_id") REFERENCES "public"."invii"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "invii_tentativi" ADD CONSTRAINT "invii_tentativi_invio_id_invii_id_fk" FOREIGN KEY ("invio_id") REFERENCES "public"."invii"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "invii_transizioni" ADD CONSTRAINT "invii_transizioni_invio_id_invii_id_fk" FOREIGN KEY ("invio_id") REFERENCES "public"."invii"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "ospiti" ADD CONSTRAINT "ospiti_prenotazione_id_prenotazioni_id_fk" FOREIGN KEY ("prenotazione_id") REFERENCES "public"."prenotazioni"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "invii_prenotazione" ON "invii" USING btree ("prenotazione_id");--> statement-breakpoint
CREATE INDEX "invii_aperti" ON "invii" USING btree ("stato") WHERE "invii"."stato" in ('pronto', 'preso', 'in_invio', 'sconosciuto', 'da_verificare');--> statement-breakpoint
CREATE UNIQUE INDEX "invii_un_volo" ON "invii" USING btree ("utente") WHERE "invii"."stato" in ('preso', 'in_invio');--> statement-breakpoint
CREATE UNIQUE INDEX "invii_esiti_definitivo" ON "invii_esiti" USING btree ("invio_id","numero") WHERE "invii_esiti"."esito" in ('K', 'N');--> statement-breakpoint
CREATE UNIQUE INDEX "invii_schedine_una_volta" ON "invii_schedine" USING btree ("utente","impronta_identita") WHERE "invii_schedine"."esito" in ('in_corso', 'acquisita', 'sconosciuta', 'depositata');--> statement-breakpoint
CREATE UNIQUE INDEX "invii_sospensioni_aperta" ON "invii_sospensioni" USING btree ((true)) WHERE "invii_sospensioni"."tolta_il" is null;--> statement-breakpoint
CREATE INDEX "invii_tentativi_giorno" ON "invii_tentativi" USING btree ("giorno_da");--> statement-breakpoint
CREATE INDEX "invii_transizioni_invio" ON "invii_transizioni" USING btree ("invio_id");--> statement-breakpoint
CREATE INDEX "ricevute_letture_giorno" ON "ricevute_letture" USING btree ("utente","giorno");--> statement-breakpoint
CREATE INDEX "sandbox_schedine_giorno" ON "sandbox_schedine" USING btree ("utente","giorno");--> statement-breakpoint
CREATE INDEX "prenotazioni_soggiorno" ON "prenotazioni" USING gist (daterange("check_in", "check_out", '[)'));--> statement-breakpoint
CREATE INDEX "prenotazioni_check_in" ON "prenotazioni" USING btree ("check_in","id");--> statement-breakpoint
CREATE INDEX "prenotazioni_updated_at" ON "prenotazioni" USING btree ("updated_at","id");--> statement-breakpoint
CREATE INDEX "idempotency_keys_created_at" ON "idempotency_keys" USING btree ("created_at");