CREATE TABLE "blocchi" (
	"id" integer PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "blocchi_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 2147483647 START WITH 1 CACHE 1),
	"unita_id" integer NOT NULL,
	"dal" date NOT NULL,
	"al" date NOT NULL,
	"motivo" text NOT NULL,
	"note" text,
	CONSTRAINT "blocchi_al_dopo_dal" CHECK ("blocchi"."al" > "blocchi"."dal"),
	CONSTRAINT "blocchi_motivo" CHECK ("blocchi"."motivo" in ('uso_proprio', 'manutenzione', 'canale', 'altro'))
);
--> statement-breakpoint
CREATE TABLE "occupazione" (
	"unita_id" integer NOT NULL,
	"dal" date NOT NULL,
	"al" date NOT NULL,
	"prenotazione_id" integer,
	"blocco_id" integer,
	CONSTRAINT "occupazione_unita_id_dal_pk" PRIMARY KEY("unita_id","dal"),
	CONSTRAINT "occupazione_prenotazione" UNIQUE("prenotazione_id"),
	CONSTRAINT "occupazione_blocco" UNIQUE("blocco_id"),
	CONSTRAINT "occupazione_una_causa" CHECK (num_nonnulls("occupazione"."prenotazione_id", "occupazione"."blocco_id") = 1),
	CONSTRAINT "occupazione_al_dopo_dal" CHECK ("occupazione"."al" > "occupazione"."dal")
);
--> statement-breakpoint
CREATE TABLE "unita" (
	"id" integer PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "unita_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 2147483647 START WITH 1 CACHE 1),
	"nome" text NOT NULL,
	"tipo" text NOT NULL,
	"camere" integer DEFAULT 1 NOT NULL,
	"posti_letto" integer NOT NULL,
	"ospiti_massimi" integer NOT NULL,
	"id_appartamento" integer,
	"cin" text,
	"gruppo" text,
	"ordine" integer DEFAULT 0 NOT NULL,
	"attiva_da" date,
	"attiva_a" date,
	CONSTRAINT "unita_nome" UNIQUE("nome"),
	CONSTRAINT "unita_tipo" CHECK ("unita"."tipo" in ('camera', 'appartamento', 'posto_letto', 'piazzola')),
	CONSTRAINT "unita_attiva" CHECK ("unita"."attiva_a" >= "unita"."attiva_da")
);
--> statement-breakpoint
ALTER TABLE "prenotazioni" ADD COLUMN "unita_id" integer;--> statement-breakpoint
ALTER TABLE "prenotazioni" ADD COLUMN "canale" text;--> statement-breakpoint
ALTER TABLE "prenotazioni" ADD COLUMN "prezzo" integer;--> statement-breakpoint
ALTER TABLE "prenotazioni" ADD COLUMN "valuta" text;--> statement-breakpoint
ALTER TABLE "prenotazioni" ADD COLUMN "note" text;--> statement-breakpoint
ALTER TABLE "prenotazioni" ADD COLUMN "gruppo" text;--> statement-breakpoint
ALTER TABLE "blocchi" ADD CONSTRAINT "blocchi_unita_id_unita_id_fk" FOREIGN KEY ("unita_id") REFERENCES "public"."unita"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "occupazione" ADD CONSTRAINT "occupazione_unita_id_unita_id_fk" FOREIGN KEY ("unita_id") REFERENCES "public"."unita"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "occupazione" ADD CONSTRAINT "occupazione_prenotazione_id_prenotazioni_id_fk" FOREIGN KEY ("prenotazione_id") REFERENCES "public"."prenotazioni"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "occupazione" ADD CONSTRAINT "occupazione_blocco_id_blocchi_id_fk" FOREIGN KEY ("blocco_id") REFERENCES "public"."blocchi"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "occupazione_al" ON "occupazione" USING btree ("unita_id","al");--> statement-breakpoint
CREATE INDEX "unita_ordine" ON "unita" USING btree ("ordine","nome");--> statement-breakpoint
ALTER TABLE "prenotazioni" ADD CONSTRAINT "prenotazioni_unita_id_unita_id_fk" FOREIGN KEY ("unita_id") REFERENCES "public"."unita"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "prenotazioni_unita" ON "prenotazioni" USING btree ("unita_id","check_in") WHERE "prenotazioni"."unita_id" is not null;--> statement-breakpoint
CREATE INDEX "prenotazioni_gruppo" ON "prenotazioni" USING btree ("gruppo") WHERE "prenotazioni"."gruppo" is not null;--> statement-breakpoint
ALTER TABLE "prenotazioni" ADD CONSTRAINT "prenotazioni_prezzo" CHECK ("prenotazioni"."prezzo" is null or ("prenotazioni"."prezzo" >= 0 and "prenotazioni"."valuta" is not null));--> statement-breakpoint

-- Writes the nights that a booking or a block occupies. The lock on the unit serializes its writers, so that each sees
-- the rows of those before. With the owner's rights: who changes a booking need not be able to write this table.
CREATE FUNCTION occupa (nuova occupazione) RETURNS void LANGUAGE plpgsql SECURITY DEFINER AS $$
DECLARE
  di unita;
  altra occupazione;
BEGIN
  PERFORM pg_advisory_xact_lock(168187, nuova.unita_id);
  SELECT * INTO di FROM unita WHERE id = nuova.unita_id;
  IF nuova.prenotazione_id IS NOT NULL AND (di.attiva_da > nuova.dal OR di.attiva_a < nuova.al - 1) THEN
    RAISE EXCEPTION 'l''unità non è in uso in questi giorni' USING ERRCODE = 'LC011', DETAIL = row_to_json(di)::text;
  END IF;
  SELECT * INTO altra FROM occupazione o WHERE o.unita_id = nuova.unita_id AND o.dal < nuova.al AND o.al > nuova.dal
    AND (o.prenotazione_id, o.blocco_id) IS DISTINCT FROM (nuova.prenotazione_id, nuova.blocco_id)
    ORDER BY o.dal LIMIT 1;
  IF FOUND THEN
    RAISE EXCEPTION 'l''unità è occupata' USING ERRCODE = 'LC010', DETAIL = row_to_json(altra)::text;
  END IF;
  DELETE FROM occupazione o
    WHERE (o.prenotazione_id, o.blocco_id) IS NOT DISTINCT FROM (nuova.prenotazione_id, nuova.blocco_id);
  INSERT INTO occupazione SELECT nuova.*;
END
$$;
--> statement-breakpoint
-- Only the triggers call it.
REVOKE ALL ON FUNCTION occupa FROM PUBLIC;
--> statement-breakpoint

CREATE FUNCTION prenotazione_occupa () RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
BEGIN
  IF NEW.unita_id IS NOT NULL AND NEW.stato = 'confermata' THEN
    PERFORM occupa(ROW(NEW.unita_id, NEW.check_in, NEW.check_out, NEW.id, NULL)::occupazione);
  ELSE
    DELETE FROM occupazione WHERE prenotazione_id = NEW.id;
  END IF;
  RETURN NULL;
END
$$;
--> statement-breakpoint
CREATE TRIGGER prenotazione_nuova_occupa AFTER INSERT ON prenotazioni FOR EACH ROW
  WHEN (NEW.unita_id IS NOT NULL) EXECUTE FUNCTION prenotazione_occupa();
--> statement-breakpoint
CREATE TRIGGER prenotazione_cambiata_occupa AFTER UPDATE OF unita_id, check_in, check_out, stato ON prenotazioni
  FOR EACH ROW WHEN (OLD.unita_id IS NOT NULL OR NEW.unita_id IS NOT NULL) EXECUTE FUNCTION prenotazione_occupa();
--> statement-breakpoint

CREATE FUNCTION blocco_occupa () RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
BEGIN
  PERFORM occupa(ROW(NEW.unita_id, NEW.dal, NEW.al, NULL, NEW.id)::occupazione);
  RETURN NULL;
END
$$;
--> statement-breakpoint
CREATE TRIGGER blocco_occupa AFTER INSERT OR UPDATE ON blocchi FOR EACH ROW EXECUTE FUNCTION blocco_occupa();
--> statement-breakpoint

-- The constraint that two rows of a unit do not overlap, which also holds for SQL by hand. It needs the extension
-- btree_gist. If the role may not create it, every start of the server tries again.
CREATE FUNCTION occupazione_vincolo () RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
  estensione text;
BEGIN
  IF EXISTS (SELECT FROM pg_constraint WHERE conname = 'occupazione_senza_sovrapposizioni') THEN
    RETURN true;
  END IF;
  LOCK TABLE occupazione IN ACCESS EXCLUSIVE MODE;
  BEGIN
    CREATE EXTENSION IF NOT EXISTS btree_gist;
  EXCEPTION WHEN OTHERS THEN
    RETURN false;
  END;
  SELECT quote_ident(n.nspname) INTO STRICT estensione
  FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace WHERE e.extname = 'btree_gist';
  IF NOT EXISTS (SELECT FROM pg_constraint WHERE conname = 'occupazione_senza_sovrapposizioni') THEN
    EXECUTE format('ALTER TABLE occupazione ADD CONSTRAINT occupazione_senza_sovrapposizioni
      EXCLUDE USING gist (unita_id %s.gist_int4_ops WITH =, daterange(dal, al, ''[)'') WITH &&)', estensione);
  END IF;
  RETURN true;
EXCEPTION WHEN insufficient_privilege THEN
  RETURN false;
END $$;
--> statement-breakpoint
SELECT occupazione_vincolo();
--> statement-breakpoint

-- The rights of the SQL console, with the tables and columns of this migration.
CREATE OR REPLACE FUNCTION console_sql_diritti(ruolo name) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  EXECUTE format('GRANT SELECT ON
    prenotazioni_per_paese, invii, invii_schedine, invii_tentativi, invii_esiti, invii_transizioni_ammesse,
    invii_transizioni, invii_decisioni, invii_sospensioni, invii_numerazione, account_polizia, ricevute,
    ricevute_letture, invii_conferme, invii_correzioni, invii_cancellazioni, invii_conteggi, allarmi,
    codici_tabelle, registro_chiave, registro_server, sandbox_schedine, sandbox_appartamenti, audit_log,
    feature_flags, maintenance, jobs, buckets, objects, discarded_files, file_store, generated_pdfs,
    pdf_templates, pdf_template_versions, scansioni, lettere_benvenuto, struttura, eventi, eventi_in_arrivo,
    webhook_consegne, webhook_tentativi, unita, blocchi, occupazione
    TO %I', ruolo);
  EXECUTE format('GRANT SELECT, INSERT (
    nome_cognome, lingua, email, telefono, paese_id, check_in, check_out, numero_ospiti, idf_gen, stato, unita_id,
    canale, prezzo, valuta, note, gruppo, created_at, updated_at, schedine_cambiate_il, versione
    ), UPDATE (
    nome_cognome, lingua, email, telefono, paese_id, check_in, check_out, numero_ospiti, idf_gen, stato, unita_id,
    canale, prezzo, valuta, note, gruppo, created_at, updated_at, schedine_cambiate_il, versione
    ) ON prenotazioni TO %I', ruolo);
  EXECUTE format('GRANT SELECT, DELETE, INSERT (prenotazione_id,
    indice, nome, cognome, sesso, data_nascita, luogo_nascita, cittadinanza, tipo_documento, numero_documento,
    luogo_rilascio, tipo_alloggiato, comune_nascita, provincia_nascita, stato_nascita, arrivo, partenza
    ), UPDATE (
    indice, nome, cognome, sesso, data_nascita, luogo_nascita, cittadinanza, tipo_documento, numero_documento,
    luogo_rilascio, tipo_alloggiato, comune_nascita, provincia_nascita, stato_nascita, arrivo, partenza
    ) ON ospiti TO %I', ruolo);
END
$$;
