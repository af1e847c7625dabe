CREATE TABLE "admin_sessions" (
	"id_hash" "bytea" PRIMARY KEY NOT NULL,
	"principal" text NOT NULL,
	"user_id" uuid,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"last_seen_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"expires_at" timestamp (3) with time zone NOT NULL
);
--> statement-breakpoint
CREATE TABLE "account_polizia" (
	"utente" text PRIMARY KEY NOT NULL,
	"canale_esclusivo" boolean DEFAULT false NOT NULL
);
--> statement-breakpoint
CREATE TABLE "allarmi" (
	"argomento" text NOT NULL,
	"giorno" date NOT NULL,
	"quando" timestamp(3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "allarmi_argomento_giorno_pk" PRIMARY KEY("argomento","giorno")
);
--> statement-breakpoint
CREATE TABLE "codici_tabelle" (
	"nome" text PRIMARY KEY NOT NULL,
	"csv" text NOT NULL,
	"sha256" text NOT NULL,
	"scaricata_il" timestamp(3) with time zone DEFAULT now() NOT NULL
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
	"sigillo" "bytea",
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
	"notti" integer,
	"sigillo" "bytea"
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
CREATE TABLE "audit_log" (
	"id" integer PRIMARY KEY NOT NULL,
	"at" timestamp (3) with time zone NOT NULL,
	"actor" text NOT NULL,
	"action" text NOT NULL,
	"object" text,
	"ip" text,
	"details" jsonb DEFAULT '{}'::jsonb NOT NULL,
	"hash" "bytea" NOT NULL
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
	CONSTRAINT "ospiti_prenotazione_indice" UNIQUE("prenotazione_id","indice"),
	CONSTRAINT "ospiti_data_del_calendario" CHECK ("ospiti"."data_nascita" between '0001-01-01' and '9999-12-31')
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
	"schedine_cambiate_il" timestamp(3) with time zone DEFAULT now() NOT NULL,
	"versione" integer DEFAULT 1 NOT NULL,
	CONSTRAINT "prenotazioni_partenza_dopo_arrivo" CHECK ("prenotazioni"."check_out" > "prenotazioni"."check_in"),
	CONSTRAINT "prenotazioni_numero_ospiti_positivo" CHECK ("prenotazioni"."numero_ospiti" > 0),
	CONSTRAINT "prenotazioni_date_del_calendario" CHECK ("prenotazioni"."check_in" between '0001-01-01' and '9999-12-31'
    and "prenotazioni"."check_out" between '0001-01-01' and '9999-12-31'
    and isfinite("prenotazioni"."created_at") and isfinite("prenotazioni"."updated_at"))
);
--> statement-breakpoint
CREATE TABLE "prenotazioni_per_paese" (
	"paese_id" integer PRIMARY KEY NOT NULL,
	"totale" integer NOT NULL
);
--> statement-breakpoint
CREATE TABLE "counters" (
	"name" text NOT NULL,
	"subject" "bytea" NOT NULL,
	"count" integer NOT NULL,
	"ends_at" timestamp (3) with time zone NOT NULL,
	CONSTRAINT "counters_name_subject_pk" PRIMARY KEY("name","subject")
);
--> statement-breakpoint
CREATE TABLE "invii_cancellazioni" (
	"invio_id" integer PRIMARY KEY NOT NULL,
	"righe" integer NOT NULL,
	"quando" timestamp(3) with time zone DEFAULT now() NOT NULL,
	"sigillo" "bytea"
);
--> statement-breakpoint
CREATE TABLE "invii_conferme" (
	"invio_id" integer PRIMARY KEY NOT NULL,
	"chi" text NOT NULL,
	"motivo" text NOT NULL,
	"precedenti" text[] NOT NULL,
	"quando" timestamp(3) with time zone DEFAULT now() NOT NULL,
	"sigillo" "bytea"
);
--> statement-breakpoint
CREATE TABLE "invii_correzioni" (
	"id" integer PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "invii_correzioni_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 2147483647 START WITH 1 CACHE 1),
	"invio_id" integer NOT NULL,
	"indice" integer,
	"chi" text NOT NULL,
	"motivo" text NOT NULL,
	"protocollo" text,
	"quando" timestamp(3) with time zone DEFAULT now() NOT NULL,
	"sigillo" "bytea"
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
	"sigillo" "bytea",
	CONSTRAINT "invii_decisioni_una" UNIQUE("invio_id","versione")
);
--> statement-breakpoint
CREATE TABLE "invii_sospensioni" (
	"id" integer PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "invii_sospensioni_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 2147483647 START WITH 1 CACHE 1),
	"motivo" text NOT NULL,
	"chi" text NOT NULL,
	"dal" timestamp(3) with time zone DEFAULT now() NOT NULL,
	"tolta_da" text,
	"tolta_il" timestamp(3) with time zone,
	"sigillo" "bytea"
);
--> statement-breakpoint
CREATE TABLE "forgotten_answers" (
	"id" integer PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "forgotten_answers_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 2147483647 START WITH 1 CACHE 1),
	"locations" text[] NOT NULL,
	"said" text,
	"names" text[] NOT NULL,
	"reusable" boolean NOT NULL,
	"forgotten_at" timestamp with time zone DEFAULT clock_timestamp() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "idempotency_keys" (
	"principal" text NOT NULL,
	"key" text NOT NULL,
	"fingerprint" text NOT NULL,
	"status" integer,
	"body" text,
	"headers" jsonb,
	"reference" text,
	"created_at" timestamp with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "idempotency_keys_principal_key_pk" PRIMARY KEY("principal","key")
);
--> statement-breakpoint
CREATE TABLE "api_keys" (
	"id" text PRIMARY KEY NOT NULL,
	"user_id" uuid NOT NULL,
	"name" text NOT NULL,
	"secret_hash" "bytea" NOT NULL,
	"scopes" text[] NOT NULL,
	"second_factor" boolean DEFAULT false NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"expires_at" timestamp (3) with time zone NOT NULL,
	"last_used_at" timestamp (3) with time zone,
	"revoked_at" timestamp (3) with time zone
);
--> statement-breakpoint
CREATE TABLE "factor_challenges" (
	"id" uuid PRIMARY KEY DEFAULT gen_random_uuid() NOT NULL,
	"factor_id" uuid NOT NULL,
	"network" text NOT NULL,
	"challenge" text,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "factors" (
	"id" uuid PRIMARY KEY DEFAULT gen_random_uuid() NOT NULL,
	"user_id" uuid NOT NULL,
	"factor_type" text NOT NULL,
	"status" text NOT NULL,
	"friendly_name" text,
	"secret" "bytea",
	"last_step" integer,
	"last_challenged_at" timestamp (3) with time zone,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"updated_at" timestamp (3) with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "flow_states" (
	"id" uuid PRIMARY KEY DEFAULT gen_random_uuid() NOT NULL,
	"provider" text NOT NULL,
	"code_challenge" text,
	"code_challenge_method" text,
	"password_hash" text,
	"redirect_to" text NOT NULL,
	"linking_user_id" uuid,
	"provider_secrets" "bytea",
	"auth_code" "bytea",
	"user_id" uuid,
	"authentication_method" text NOT NULL,
	"provider_tokens" "bytea",
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"authenticated_at" timestamp (3) with time zone
);
--> statement-breakpoint
CREATE TABLE "identities" (
	"id" uuid PRIMARY KEY DEFAULT gen_random_uuid() NOT NULL,
	"user_id" uuid NOT NULL,
	"provider" text NOT NULL,
	"provider_id" text NOT NULL,
	"identity_data" jsonb NOT NULL,
	"last_sign_in_at" timestamp (3) with time zone,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"updated_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "identities_provider_id" UNIQUE("provider","provider_id")
);
--> statement-breakpoint
CREATE TABLE "one_time_tokens" (
	"id" uuid PRIMARY KEY DEFAULT gen_random_uuid() NOT NULL,
	"user_id" uuid NOT NULL,
	"kind" text NOT NULL,
	"sent_to" text NOT NULL,
	"otp_fingerprint" "bytea" NOT NULL,
	"link_fingerprint" "bytea" NOT NULL,
	"attempts" integer DEFAULT 0 NOT NULL,
	"flow_state_id" uuid,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"expires_at" timestamp (3) with time zone NOT NULL,
	CONSTRAINT "one_time_tokens_kind" UNIQUE("user_id","kind")
);
--> statement-breakpoint
CREATE TABLE "recovery_codes" (
	"factor_id" uuid NOT NULL,
	"fingerprint" "bytea" NOT NULL,
	"used_at" timestamp (3) with time zone,
	CONSTRAINT "recovery_codes_factor_id_fingerprint_pk" PRIMARY KEY("factor_id","fingerprint")
);
--> statement-breakpoint
CREATE TABLE "seen_sessions" (
	"id" uuid PRIMARY KEY NOT NULL,
	"user_id" uuid NOT NULL,
	"user_agent" text,
	"ip" text,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"updated_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"expires_at" timestamp (3) with time zone NOT NULL,
	"revoked_at" timestamp (3) with time zone
);
--> statement-breakpoint
CREATE TABLE "sessions" (
	"id" uuid PRIMARY KEY DEFAULT gen_random_uuid() NOT NULL,
	"user_id" uuid NOT NULL,
	"amr" jsonb NOT NULL,
	"provider" text NOT NULL,
	"factor_id" uuid,
	"refresh_counter" integer DEFAULT 0 NOT NULL,
	"refreshed_at" timestamp (3) with time zone,
	"repeats" integer DEFAULT 0 NOT NULL,
	"repeats_day" integer DEFAULT 0 NOT NULL,
	"not_after" timestamp (3) with time zone NOT NULL,
	"user_agent" text,
	"ip" text,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"updated_at" timestamp (3) with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "signing_keys" (
	"kid" text PRIMARY KEY NOT NULL,
	"public_key" text NOT NULL,
	"private_key" "bytea" NOT NULL,
	"signs_from" timestamp (3) with time zone NOT NULL,
	"retires_at" timestamp (3) with time zone,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "users" (
	"id" uuid PRIMARY KEY DEFAULT gen_random_uuid() NOT NULL,
	"email" text NOT NULL,
	"password_hash" text,
	"password_browser" "bytea",
	"email_confirmed_at" timestamp (3) with time zone,
	"invited_at" timestamp (3) with time zone,
	"confirmation_sent_at" timestamp (3) with time zone,
	"recovery_sent_at" timestamp (3) with time zone,
	"new_email" text,
	"email_change_sent_at" timestamp (3) with time zone,
	"reauthentication_sent_at" timestamp (3) with time zone,
	"last_sign_in_at" timestamp (3) with time zone,
	"app_metadata" jsonb DEFAULT '{}'::jsonb NOT NULL,
	"user_metadata" jsonb DEFAULT '{}'::jsonb NOT NULL,
	"banned_until" timestamp (3) with time zone,
	"deleted_at" timestamp (3) with time zone,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"updated_at" timestamp (3) with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "jobs" (
	"name" text PRIMARY KEY NOT NULL,
	"cron" text NOT NULL,
	"next_run_at" timestamp (3) with time zone NOT NULL,
	"started_at" timestamp (3) with time zone,
	"finished_at" timestamp (3) with time zone,
	"outcome" text,
	"error" text,
	"claimed_by" text,
	"lease_until" timestamp (3) with time zone
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
	"sigillo" "bytea",
	CONSTRAINT "invii_ricevuta_unique" UNIQUE("ricevuta")
);
--> statement-breakpoint
CREATE TABLE "invii_conteggi" (
	"utente" text NOT NULL,
	"stato" text NOT NULL,
	"quanti" integer NOT NULL,
	CONSTRAINT "invii_conteggi_utente_stato_pk" PRIMARY KEY("utente","stato")
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
	"registrato_il" timestamp(3) with time zone DEFAULT now() NOT NULL,
	"sigillo" "bytea"
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
	"prenotazione_id" integer,
	"riga" "bytea",
	"permanenza" integer NOT NULL,
	"impronta_identita" "bytea" NOT NULL,
	"impronta_persona" "bytea" NOT NULL,
	"impronta_documento" "bytea",
	"confermata" boolean DEFAULT false NOT NULL,
	"esito" text NOT NULL,
	"codice_errore" text,
	"messaggio_soap" text,
	"dettaglio" text,
	"sigillo" "bytea",
	CONSTRAINT "invii_schedine_invio_id_indice_pk" PRIMARY KEY("invio_id","indice")
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
	"sigillo" "bytea",
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
CREATE TABLE "registro_chiave" (
	"unica" boolean PRIMARY KEY DEFAULT true NOT NULL,
	"impronta" "bytea" NOT NULL,
	CONSTRAINT "registro_chiave_una" CHECK ("registro_chiave"."unica")
);
--> statement-breakpoint
CREATE TABLE "registro_server" (
	"unica" boolean PRIMARY KEY DEFAULT true NOT NULL,
	"sistema" text NOT NULL,
	"timeline" integer NOT NULL,
	CONSTRAINT "registro_server_uno" CHECK ("registro_server"."unica")
);
--> statement-breakpoint
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
CREATE TABLE "mails" (
	"id" integer PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "mails_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 2147483647 START WITH 1 CACHE 1),
	"message_id" text NOT NULL,
	"content" "bytea",
	"stato" text DEFAULT 'in_coda' NOT NULL,
	"attempts" integer DEFAULT 0 NOT NULL,
	"next_attempt_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"last_error" text,
	"reply" text,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"sent_at" timestamp (3) with time zone,
	CONSTRAINT "mails_message_id_unique" UNIQUE("message_id")
);
--> statement-breakpoint
CREATE TABLE "eventi" (
	"posizione" integer PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "eventi_posizione_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 2147483647 START WITH 1 CACHE 1),
	"id" uuid NOT NULL,
	"tipo" text NOT NULL,
	"oggetto" text NOT NULL,
	"prenotazione_id" integer,
	"dettaglio" text,
	"quando" timestamp(3) with time zone NOT NULL
);
--> statement-breakpoint
CREATE TABLE "eventi_in_arrivo" (
	"numero" integer PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "eventi_in_arrivo_numero_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 2147483647 START WITH 1 CACHE 1),
	"transazione" bigint NOT NULL,
	"id" uuid DEFAULT gen_random_uuid() NOT NULL,
	"tipo" text NOT NULL,
	"oggetto" text NOT NULL,
	"prenotazione_id" integer,
	"dettaglio" text,
	"quando" timestamp(3) with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "webhook_consegne" (
	"id" integer PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "webhook_consegne_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 2147483647 START WITH 1 CACHE 1),
	"webhook_id" integer NOT NULL,
	"evento" integer NOT NULL,
	"oggetto" text NOT NULL,
	"stato" text DEFAULT 'in_coda' NOT NULL,
	"tentativi" integer DEFAULT 0 NOT NULL,
	"falliti" integer DEFAULT 0 NOT NULL,
	"provata_dal" timestamp (3) with time zone,
	"prossimo_tentativo" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"presa" boolean DEFAULT false NOT NULL,
	"a_mano" boolean DEFAULT false NOT NULL,
	"creata_il" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"consegnata_il" timestamp (3) with time zone,
	CONSTRAINT "webhook_consegne_una" UNIQUE("webhook_id","evento")
);
--> statement-breakpoint
CREATE TABLE "webhook_tentativi" (
	"id" integer PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "webhook_tentativi_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 2147483647 START WITH 1 CACHE 1),
	"consegna_id" integer NOT NULL,
	"quando" timestamp (3) with time zone NOT NULL,
	"durata_ms" integer NOT NULL,
	"stato_http" integer,
	"errore" text
);
--> statement-breakpoint
CREATE TABLE "webhooks" (
	"id" integer PRIMARY KEY GENERATED BY DEFAULT AS IDENTITY (sequence name "webhooks_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 2147483647 START WITH 1 CACHE 1),
	"url" text NOT NULL,
	"descrizione" text,
	"tipi" text[] NOT NULL,
	"stato" text DEFAULT 'attivo' NOT NULL,
	"segreto" "bytea" NOT NULL,
	"segreto_precedente" "bytea",
	"precedente_fino_al" timestamp (3) with time zone,
	"errori_di_fila" integer DEFAULT 0 NOT NULL,
	"errori_dal" timestamp (3) with time zone,
	"ultimo_errore" timestamp (3) with time zone,
	"fermo_fino_al" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"chiesto_fino_al" timestamp (3) with time zone,
	"sospeso_il" timestamp (3) with time zone,
	"creato_il" timestamp (3) with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
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
CREATE TABLE "pdf_templates" (
	"id" text PRIMARY KEY NOT NULL,
	"nome" text NOT NULL,
	"template" text NOT NULL,
	"esempio" jsonb,
	"variabili" text[] NOT NULL,
	"versione" integer DEFAULT 1 NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"updated_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"deleted_at" timestamp (3) with time zone
);
--> statement-breakpoint
CREATE TABLE "scansioni" (
	"id" integer PRIMARY KEY GENERATED BY DEFAULT AS IDENTITY (sequence name "scansioni_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 2147483647 START WITH 1 CACHE 1),
	"dati" "bytea" NOT NULL,
	"prenotazione_id" integer,
	"guest_idx" integer,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "buckets" (
	"id" text PRIMARY KEY NOT NULL,
	"public" boolean DEFAULT false NOT NULL,
	"file_size_limit" bigint,
	"allowed_mime_types" text[],
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"updated_at" timestamp (3) with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "discarded_files" (
	"id" uuid PRIMARY KEY NOT NULL,
	"attempts" integer DEFAULT 0 NOT NULL,
	"next_attempt_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"discarded_at" timestamp (3) with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "file_store" (
	"id" uuid PRIMARY KEY DEFAULT gen_random_uuid() NOT NULL,
	"adopted_at" timestamp (3) with time zone,
	"compared_at" timestamp (3) with time zone,
	"missing" integer
);
--> statement-breakpoint
CREATE TABLE "objects" (
	"id" uuid PRIMARY KEY NOT NULL,
	"bucket" text NOT NULL,
	"name" text NOT NULL,
	"owner" text,
	"content_type" text NOT NULL,
	"size" bigint NOT NULL,
	"cache_control" text,
	"metadata" jsonb,
	"key_id" integer NOT NULL,
	"wrapped_key" "bytea" NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"updated_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "objects_bucket_name" UNIQUE("bucket","name")
);
--> statement-breakpoint
CREATE TABLE "storage_keys" (
	"id" integer PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "storage_keys_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 2147483647 START WITH 1 CACHE 1),
	"salt" "bytea" NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL
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
CREATE TABLE "webauthn_challenges" (
	"id" uuid PRIMARY KEY DEFAULT gen_random_uuid() NOT NULL,
	"ceremony" text NOT NULL,
	"user_id" uuid,
	"challenge" text NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "webauthn_credentials" (
	"id" uuid PRIMARY KEY DEFAULT gen_random_uuid() NOT NULL,
	"user_id" uuid NOT NULL,
	"factor_id" uuid,
	"credential_id" text NOT NULL,
	"public_key" "bytea" NOT NULL,
	"counter" bigint NOT NULL,
	"transports" text[] NOT NULL,
	"friendly_name" text,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"last_used_at" timestamp (3) with time zone,
	CONSTRAINT "webauthn_credentials_credential" UNIQUE("credential_id")
);
--> statement-breakpoint
ALTER TABLE "ospiti" ADD CONSTRAINT "ospiti_prenotazione_id_prenotazioni_id_fk" FOREIGN KEY ("prenotazione_id") REFERENCES "public"."prenotazioni"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "invii_cancellazioni" ADD CONSTRAINT "invii_cancellazioni_invio_id_invii_id_fk" FOREIGN KEY ("invio_id") REFERENCES "public"."invii"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "invii_conferme" ADD CONSTRAINT "invii_conferme_invio_id_invii_id_fk" FOREIGN KEY ("invio_id") REFERENCES "public"."invii"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "invii_correzioni" ADD CONSTRAINT "invii_correzioni_invio_id_invii_id_fk" FOREIGN KEY ("invio_id") REFERENCES "public"."invii"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "invii_decisioni" ADD CONSTRAINT "invii_decisioni_invio_id_invii_id_fk" FOREIGN KEY ("invio_id") REFERENCES "public"."invii"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "factor_challenges" ADD CONSTRAINT "factor_challenges_factor_id_factors_id_fk" FOREIGN KEY ("factor_id") REFERENCES "public"."factors"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "factors" ADD CONSTRAINT "factors_user_id_users_id_fk" FOREIGN KEY ("user_id") REFERENCES "public"."users"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "flow_states" ADD CONSTRAINT "flow_states_linking_user_id_users_id_fk" FOREIGN KEY ("linking_user_id") REFERENCES "public"."users"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "flow_states" ADD CONSTRAINT "flow_states_user_id_users_id_fk" FOREIGN KEY ("user_id") REFERENCES "public"."users"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "identities" ADD CONSTRAINT "identities_user_id_users_id_fk" FOREIGN KEY ("user_id") REFERENCES "public"."users"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "one_time_tokens" ADD CONSTRAINT "one_time_tokens_user_id_users_id_fk" FOREIGN KEY ("user_id") REFERENCES "public"."users"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "one_time_tokens" ADD CONSTRAINT "one_time_tokens_flow_state_id_flow_states_id_fk" FOREIGN KEY ("flow_state_id") REFERENCES "public"."flow_states"("id") ON DELETE set null ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "recovery_codes" ADD CONSTRAINT "recovery_codes_factor_id_factors_id_fk" FOREIGN KEY ("factor_id") REFERENCES "public"."factors"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "sessions" ADD CONSTRAINT "sessions_user_id_users_id_fk" FOREIGN KEY ("user_id") REFERENCES "public"."users"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "sessions" ADD CONSTRAINT "sessions_factor_id_factors_id_fk" FOREIGN KEY ("factor_id") REFERENCES "public"."factors"("id") ON DELETE set null ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "invii_esiti" ADD CONSTRAINT "invii_esiti_invio_id_numero_invii_tentativi_invio_id_numero_fk" FOREIGN KEY ("invio_id","numero") REFERENCES "public"."invii_tentativi"("invio_id","numero") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "invii_schedine" ADD CONSTRAINT "invii_schedine_invio_id_invii_id_fk" FOREIGN KEY ("invio_id") REFERENCES "public"."invii"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "invii_tentativi" ADD CONSTRAINT "invii_tentativi_invio_id_invii_id_fk" FOREIGN KEY ("invio_id") REFERENCES "public"."invii"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "invii_transizioni" ADD CONSTRAINT "invii_transizioni_invio_id_invii_id_fk" FOREIGN KEY ("invio_id") REFERENCES "public"."invii"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "lettere_benvenuto" ADD CONSTRAINT "lettere_benvenuto_prenotazione_id_prenotazioni_id_fk" FOREIGN KEY ("prenotazione_id") REFERENCES "public"."prenotazioni"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "lettere_benvenuto" ADD CONSTRAINT "lettere_benvenuto_pdf_generated_pdfs_id_fk" FOREIGN KEY ("pdf") REFERENCES "public"."generated_pdfs"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "webhook_consegne" ADD CONSTRAINT "webhook_consegne_webhook_id_webhooks_id_fk" FOREIGN KEY ("webhook_id") REFERENCES "public"."webhooks"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "webhook_consegne" ADD CONSTRAINT "webhook_consegne_evento_eventi_posizione_fk" FOREIGN KEY ("evento") REFERENCES "public"."eventi"("posizione") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "webhook_tentativi" ADD CONSTRAINT "webhook_tentativi_consegna_id_webhook_consegne_id_fk" FOREIGN KEY ("consegna_id") REFERENCES "public"."webhook_consegne"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "generated_pdfs" ADD CONSTRAINT "generated_pdfs_prenotazione_id_prenotazioni_id_fk" FOREIGN KEY ("prenotazione_id") REFERENCES "public"."prenotazioni"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "generated_pdfs" ADD CONSTRAINT "generated_pdfs_file" FOREIGN KEY ("bucket","oggetto") REFERENCES "public"."objects"("bucket","name") ON DELETE cascade ON UPDATE cascade;--> statement-breakpoint
ALTER TABLE "pdf_template_versions" ADD CONSTRAINT "pdf_template_versions_id_pdf_templates_id_fk" FOREIGN KEY ("id") REFERENCES "public"."pdf_templates"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "objects" ADD CONSTRAINT "objects_bucket_buckets_id_fk" FOREIGN KEY ("bucket") REFERENCES "public"."buckets"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "objects" ADD CONSTRAINT "objects_key_id_storage_keys_id_fk" FOREIGN KEY ("key_id") REFERENCES "public"."storage_keys"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "webauthn_challenges" ADD CONSTRAINT "webauthn_challenges_user_id_users_id_fk" FOREIGN KEY ("user_id") REFERENCES "public"."users"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "webauthn_credentials" ADD CONSTRAINT "webauthn_credentials_user_id_users_id_fk" FOREIGN KEY ("user_id") REFERENCES "public"."users"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "webauthn_credentials" ADD CONSTRAINT "webauthn_credentials_factor_id_factors_id_fk" FOREIGN KEY ("factor_id") REFERENCES "public"."factors"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "ricevute_letture_giorno" ON "ricevute_letture" USING btree ("utente","giorno");--> statement-breakpoint
CREATE INDEX "sandbox_schedine_giorno" ON "sandbox_schedine" USING btree ("utente","giorno");--> statement-breakpoint
CREATE INDEX "audit_log_actor" ON "audit_log" USING btree ("actor","id");--> statement-breakpoint
CREATE INDEX "audit_log_action" ON "audit_log" USING btree ("action","id");--> statement-breakpoint
CREATE INDEX "prenotazioni_soggiorno" ON "prenotazioni" USING gist (daterange("check_in", "check_out", '[)'));--> statement-breakpoint
CREATE INDEX "prenotazioni_check_in" ON "prenotazioni" USING btree ("check_in","id");--> statement-breakpoint
CREATE INDEX "prenotazioni_check_out" ON "prenotazioni" USING btree ("check_out");--> statement-breakpoint
CREATE INDEX "prenotazioni_updated_at" ON "prenotazioni" USING btree ("updated_at","id");--> statement-breakpoint
CREATE INDEX "prenotazioni_per_paese_totale" ON "prenotazioni_per_paese" USING btree ("totale" DESC NULLS LAST,"paese_id");--> statement-breakpoint
CREATE INDEX "counters_ends_at" ON "counters" USING btree ("ends_at");--> statement-breakpoint
CREATE INDEX "invii_correzioni_invio" ON "invii_correzioni" USING btree ("invio_id");--> statement-breakpoint
CREATE UNIQUE INDEX "invii_sospensioni_aperta" ON "invii_sospensioni" USING btree ((true)) WHERE "invii_sospensioni"."tolta_il" is null;--> statement-breakpoint
CREATE INDEX "idempotency_keys_created_at" ON "idempotency_keys" USING btree ("created_at");--> statement-breakpoint
CREATE INDEX "api_keys_user" ON "api_keys" USING btree ("user_id");--> statement-breakpoint
CREATE INDEX "factor_challenges_factor" ON "factor_challenges" USING btree ("factor_id");--> statement-breakpoint
CREATE INDEX "factors_user" ON "factors" USING btree ("user_id");--> statement-breakpoint
CREATE UNIQUE INDEX "factors_recovery_codes" ON "factors" USING btree ("user_id") WHERE "factors"."factor_type" = 'recovery_code';--> statement-breakpoint
CREATE UNIQUE INDEX "flow_states_auth_code" ON "flow_states" USING btree ("auth_code");--> statement-breakpoint
CREATE INDEX "flow_states_created_at" ON "flow_states" USING btree ("created_at");--> statement-breakpoint
CREATE INDEX "identities_user" ON "identities" USING btree ("user_id");--> statement-breakpoint
CREATE INDEX "one_time_tokens_link" ON "one_time_tokens" USING btree ("link_fingerprint");--> statement-breakpoint
CREATE INDEX "seen_sessions_user" ON "seen_sessions" USING btree ("user_id");--> statement-breakpoint
CREATE INDEX "sessions_user" ON "sessions" USING btree ("user_id");--> statement-breakpoint
CREATE INDEX "sessions_factor" ON "sessions" USING btree ("factor_id");--> statement-breakpoint
CREATE UNIQUE INDEX "users_email" ON "users" USING btree ("email") WHERE "users"."deleted_at" is null;--> statement-breakpoint
CREATE INDEX "users_created_at" ON "users" USING btree ("created_at","id");--> statement-breakpoint
CREATE INDEX "users_imported_hash" ON "users" USING btree ("id") WHERE "users"."password_hash" not like '$argon2id$v=19$m=19456,t=2,p=1$%';--> statement-breakpoint
CREATE INDEX "invii_prenotazione" ON "invii" USING btree ("prenotazione_id");--> statement-breakpoint
CREATE INDEX "invii_arrivo" ON "invii" USING btree ("data_arrivo");--> statement-breakpoint
CREATE INDEX "invii_stato" ON "invii" USING btree ("stato","id");--> statement-breakpoint
CREATE INDEX "invii_aperti" ON "invii" USING btree ("stato") WHERE "invii"."stato" in ('pronto', 'preso', 'in_invio', 'sconosciuto', 'da_verificare');--> statement-breakpoint
CREATE UNIQUE INDEX "invii_un_volo" ON "invii" USING btree ("utente") WHERE "invii"."stato" in ('in_invio');--> statement-breakpoint
CREATE INDEX "invii_esiti_tentativo" ON "invii_esiti" USING btree ("invio_id","numero");--> statement-breakpoint
CREATE UNIQUE INDEX "invii_esiti_definitivo" ON "invii_esiti" USING btree ("invio_id","numero") WHERE "invii_esiti"."esito" in ('K', 'N');--> statement-breakpoint
CREATE UNIQUE INDEX "invii_schedine_una_volta" ON "invii_schedine" USING btree ("utente","impronta_identita") WHERE "invii_schedine"."esito" in ('in_corso', 'acquisita', 'sconosciuta', 'depositata') and not "invii_schedine"."confermata";--> statement-breakpoint
CREATE UNIQUE INDEX "invii_schedine_una_persona" ON "invii_schedine" USING btree ("utente","impronta_persona") WHERE "invii_schedine"."esito" in ('in_corso', 'acquisita', 'sconosciuta', 'depositata') and not "invii_schedine"."confermata";--> statement-breakpoint
CREATE UNIQUE INDEX "invii_schedine_un_documento" ON "invii_schedine" USING btree ("utente","impronta_documento") WHERE "invii_schedine"."esito" in ('in_corso', 'acquisita', 'sconosciuta', 'depositata') and not "invii_schedine"."confermata";--> statement-breakpoint
CREATE INDEX "invii_schedine_prenotazione" ON "invii_schedine" USING btree ("prenotazione_id");--> statement-breakpoint
CREATE INDEX "invii_tentativi_giorno" ON "invii_tentativi" USING btree ("giorno_da");--> statement-breakpoint
CREATE INDEX "invii_transizioni_invio" ON "invii_transizioni" USING btree ("invio_id");--> statement-breakpoint
CREATE INDEX "mails_in_coda" ON "mails" USING btree ("next_attempt_at") WHERE "mails"."stato" = 'in_coda';--> statement-breakpoint
CREATE INDEX "eventi_prenotazione" ON "eventi" USING btree ("prenotazione_id","posizione");--> statement-breakpoint
CREATE UNIQUE INDEX "eventi_in_arrivo_uno" ON "eventi_in_arrivo" USING btree ("transazione","tipo","oggetto");--> statement-breakpoint
CREATE INDEX "webhook_consegne_evento" ON "webhook_consegne" USING btree ("evento");--> statement-breakpoint
CREATE INDEX "webhook_consegne_scadenza" ON "webhook_consegne" USING btree ("webhook_id","prossimo_tentativo","id") WHERE "webhook_consegne"."stato" = 'in_coda';--> statement-breakpoint
CREATE INDEX "webhook_consegne_oggetto" ON "webhook_consegne" USING btree ("webhook_id","oggetto","id") WHERE "webhook_consegne"."stato" = 'in_coda' and not "webhook_consegne"."a_mano";--> statement-breakpoint
CREATE INDEX "webhook_tentativi_consegna" ON "webhook_tentativi" USING btree ("consegna_id","id");--> statement-breakpoint
CREATE INDEX "generated_pdfs_file_idx" ON "generated_pdfs" USING btree ("bucket","oggetto");--> statement-breakpoint
CREATE INDEX "generated_pdfs_utente" ON "generated_pdfs" USING btree ("utente","numero");--> statement-breakpoint
CREATE INDEX "generated_pdfs_prenotazione" ON "generated_pdfs" USING btree ("prenotazione_id");--> statement-breakpoint
CREATE INDEX "scansioni_prenotazione" ON "scansioni" USING btree ("prenotazione_id","guest_idx");--> statement-breakpoint
CREATE INDEX "discarded_files_due" ON "discarded_files" USING btree ("next_attempt_at");--> statement-breakpoint
CREATE UNIQUE INDEX "file_store_one" ON "file_store" USING btree ((true));--> statement-breakpoint
CREATE INDEX "objects_prefix" ON "objects" USING btree ("bucket","name" collate "C");--> statement-breakpoint
CREATE UNIQUE INDEX "maintenance_open" ON "maintenance" USING btree ((true)) WHERE "maintenance"."ended_at" is null;--> statement-breakpoint
CREATE INDEX "webauthn_challenges_created_at" ON "webauthn_challenges" USING btree ("created_at");--> statement-breakpoint
CREATE INDEX "webauthn_credentials_user" ON "webauthn_credentials" USING btree ("user_id");--> statement-breakpoint
CREATE INDEX "webauthn_credentials_factor" ON "webauthn_credentials" USING btree ("factor_id");