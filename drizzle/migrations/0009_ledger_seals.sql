CREATE TABLE "registro_chiave" (
	"unica" boolean PRIMARY KEY DEFAULT true NOT NULL,
	"primo_anello" integer NOT NULL,
	"quando" timestamp(3) with time zone NOT NULL,
	"impronta" "bytea" NOT NULL,
	CONSTRAINT "registro_chiave_una" CHECK ("registro_chiave"."unica")
);
--> statement-breakpoint
ALTER TABLE "invii_cancellazioni" ADD COLUMN "sigillo" "bytea";--> statement-breakpoint
ALTER TABLE "invii_conferme" ADD COLUMN "sigillo" "bytea";--> statement-breakpoint
ALTER TABLE "invii_correzioni" ADD COLUMN "sigillo" "bytea";--> statement-breakpoint
ALTER TABLE "invii_sospensioni" ADD COLUMN "sigillo" "bytea";--> statement-breakpoint
ALTER TABLE "ricevute" ADD COLUMN "sigillo" "bytea";--> statement-breakpoint
ALTER TABLE "ricevute_letture" ADD COLUMN "sigillo" "bytea";
--> statement-breakpoint

-- Keyed hashes of the ledger's rows and of its chain. The key is in the settings of the server's sessions, and nowhere in
-- the database: who can write to it without the server's MASTER_KEY cannot change a row and be believed.

CREATE FUNCTION sessione_con_chiave () RETURNS boolean LANGUAGE sql STABLE AS $$
  SELECT coalesce(current_setting('locanda.sigillo_i', true), '') <> ''
$$;
--> statement-breakpoint

-- HMAC-SHA256 (RFC 2104) of a text; the settings are the key's inner and outer block.
CREATE FUNCTION sigillo_di (testo text) RETURNS bytea LANGUAGE sql STABLE AS $$
  SELECT sha256(decode(current_setting('locanda.sigillo_o'), 'hex') ||
    sha256(decode(current_setting('locanda.sigillo_i'), 'hex') || convert_to(testo, 'UTF8')))
$$;
--> statement-breakpoint

CREATE TRIGGER registro_chiave_immutabile BEFORE UPDATE OR DELETE ON registro_chiave FOR EACH STATEMENT EXECUTE FUNCTION registro_immutabile();
--> statement-breakpoint
CREATE TRIGGER registro_chiave_svuota BEFORE TRUNCATE ON registro_chiave FOR EACH STATEMENT EXECUTE FUNCTION registro_immutabile();
--> statement-breakpoint

-- A row as it is sealed. Empty columns do not count, so that a later version can add some; nor does the one that goes. Of
-- a PDF the hash counts.
CREATE FUNCTION testo_da_sigillare (tabella text, riga jsonb) RETURNS text LANGUAGE sql IMMUTABLE AS $$
  SELECT tabella || ' ' || (jsonb_strip_nulls(riga - 'sigillo' - 'impronta_contenuto' - 'pdf') || CASE WHEN riga ? 'pdf'
    THEN jsonb_build_object('pdf', encode(sha256(convert_to(riga ->> 'pdf', 'UTF8')), 'hex')) ELSE '{}' END)::text
$$;
--> statement-breakpoint

-- A link as it is hashed with the key: over the link before, and with the number of rows, which is fixed at the birth.
CREATE FUNCTION testo_dell_anello (precedente bytea, id integer, invio_id integer, da text, a text, chi text, perche text,
  quando timestamptz, righe integer) RETURNS text LANGUAGE sql IMMUTABLE AS $$
  SELECT coalesce(encode(precedente, 'hex'), '') || ' ' ||
    jsonb_build_array(id, invio_id, da, a, chi, perche, extract(epoch FROM quando)::numeric(20, 3), righe)::text
$$;
--> statement-breakpoint

-- Whether a submission was born with the key: then its first link does not have the hash of the versions before.
CREATE FUNCTION nato_con_chiave (invio integer) RETURNS boolean LANGUAGE sql STABLE AS $$
  SELECT coalesce((
    SELECT t.hash <> invii_hash(p.hash, t.id, t.invio_id, t.da, t.a, t.chi, t.perche, t.quando)
    FROM invii_transizioni t LEFT JOIN invii_transizioni p ON p.id = t.id - 1
    WHERE t.invio_id = invio ORDER BY t.id LIMIT 1), false)
$$;
--> statement-breakpoint

-- Seals a row; the argument is the column that names its submission, where it has one. A process of the version before has
-- no key: it goes on with its own submissions, and leaves those alone that were born with the key.
CREATE FUNCTION invii_sigilla () RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF sessione_con_chiave() THEN
    NEW.sigillo := sigillo_di(testo_da_sigillare(TG_TABLE_NAME, to_jsonb(NEW)));
  ELSIF TG_NARGS > 0 AND nato_con_chiave((to_jsonb(NEW) ->> TG_ARGV[0])::integer) THEN
    RAISE EXCEPTION 'questo invio è sigillato, e la sessione non ha la chiave' USING ERRCODE = 'LC004';
  ELSE
    NEW.sigillo := NULL;
  END IF;
  RETURN NEW;
END
$$;
--> statement-breakpoint

-- The triggers of a row fire in the order of their names: what others set is sealed, too.
CREATE TRIGGER invii_sigilla BEFORE INSERT OR UPDATE ON invii FOR EACH ROW EXECUTE FUNCTION invii_sigilla('id');
--> statement-breakpoint
CREATE TRIGGER invii_schedine_sigilla BEFORE INSERT OR UPDATE ON invii_schedine FOR EACH ROW EXECUTE FUNCTION invii_sigilla('invio_id');
--> statement-breakpoint
CREATE TRIGGER invii_tentativi_sigilla BEFORE INSERT ON invii_tentativi FOR EACH ROW EXECUTE FUNCTION invii_sigilla('invio_id');
--> statement-breakpoint
CREATE TRIGGER invii_esiti_sigilla BEFORE INSERT ON invii_esiti FOR EACH ROW EXECUTE FUNCTION invii_sigilla('invio_id');
--> statement-breakpoint
CREATE TRIGGER invii_decisioni_sigilla BEFORE INSERT ON invii_decisioni FOR EACH ROW EXECUTE FUNCTION invii_sigilla('invio_id');
--> statement-breakpoint
CREATE TRIGGER invii_conferme_sigilla BEFORE INSERT ON invii_conferme FOR EACH ROW EXECUTE FUNCTION invii_sigilla('invio_id');
--> statement-breakpoint
CREATE TRIGGER invii_correzioni_sigilla BEFORE INSERT ON invii_correzioni FOR EACH ROW EXECUTE FUNCTION invii_sigilla('invio_id');
--> statement-breakpoint
CREATE TRIGGER invii_cancellazioni_sigilla BEFORE INSERT ON invii_cancellazioni FOR EACH ROW EXECUTE FUNCTION invii_sigilla('invio_id');
--> statement-breakpoint
CREATE TRIGGER invii_sospensioni_sigilla BEFORE INSERT OR UPDATE ON invii_sospensioni FOR EACH ROW EXECUTE FUNCTION invii_sigilla();
--> statement-breakpoint
CREATE TRIGGER ricevute_sigilla BEFORE INSERT OR UPDATE ON ricevute FOR EACH ROW EXECUTE FUNCTION invii_sigilla();
--> statement-breakpoint
CREATE TRIGGER ricevute_letture_sigilla BEFORE INSERT ON ricevute_letture FOR EACH ROW EXECUTE FUNCTION invii_sigilla();
--> statement-breakpoint

-- As in migration 0001, with the hash keyed where the session has the key.
CREATE OR REPLACE FUNCTION invii_transizione () RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  ammessa invii_transizioni_ammesse;
  precedente invii_transizioni;
  anello invii_transizioni;
  righe integer;
BEGIN
  IF TG_OP = 'INSERT' THEN
    IF NEW.stato <> 'pronto' OR NEW.versione <> 0 OR NEW.tentativo <> 0 THEN
      RAISE EXCEPTION 'un invio nasce pronto, non %', NEW.stato USING ERRCODE = 'LC001';
    END IF;
  ELSE
    IF (NEW.id, NEW.ricevuta, NEW.utente, NEW.operatore, NEW.metodo, NEW.id_appartamento, NEW.prenotazione_id, NEW.data_arrivo, NEW.permanenza,
        NEW.scadenza, NEW.creato_il, NEW.versione)
      IS DISTINCT FROM (OLD.id, OLD.ricevuta, OLD.utente, OLD.operatore, OLD.metodo, OLD.id_appartamento, OLD.prenotazione_id, OLD.data_arrivo, OLD.permanenza,
        OLD.scadenza, OLD.creato_il, OLD.versione) THEN
      RAISE EXCEPTION 'i dati di un invio non cambiano' USING ERRCODE = 'LC002';
    END IF;
    IF NEW.tentativo <> OLD.tentativo + (CASE WHEN OLD.stato = 'preso' AND NEW.stato = 'in_invio' THEN 1 ELSE 0 END) THEN
      RAISE EXCEPTION 'un tentativo comincia con l''invio, e solo allora' USING ERRCODE = 'LC002';
    END IF;
    IF NEW.stato = OLD.stato THEN
      RETURN NEW;
    END IF;
    SELECT * INTO ammessa FROM invii_transizioni_ammesse WHERE da = OLD.stato AND a = NEW.stato;
    IF NOT FOUND THEN
      RAISE EXCEPTION 'transizione non ammessa: % -> %', OLD.stato, NEW.stato USING ERRCODE = 'LC001';
    END IF;
    IF ammessa.serve IS NOT NULL AND NOT invii_prova(NEW, ammessa.serve) THEN
      RAISE EXCEPTION 'transizione senza prova: % -> % vuole %', OLD.stato, NEW.stato, ammessa.serve USING ERRCODE = 'LC001';
    END IF;
    NEW.versione := OLD.versione + 1;
    anello.da := OLD.stato;
    righe := (SELECT count(*) FROM invii_schedine WHERE invio_id = NEW.id);
  END IF;
  anello.invio_id := NEW.id;
  anello.a := NEW.stato;
  anello.chi := coalesce(nullif(current_setting('locanda.chi', true), ''), 'sistema');
  anello.perche := coalesce(current_setting('locanda.perche', true), '');
  -- To the millisecond, as it is kept: the hash must be computable from the row.
  anello.quando := clock_timestamp()::timestamptz(3);
  -- One chain: writers queue until the one before has committed.
  PERFORM pg_advisory_xact_lock(168175);
  SELECT * INTO precedente FROM invii_transizioni ORDER BY id DESC LIMIT 1;
  anello.id := coalesce(precedente.id, 0) + 1;
  IF sessione_con_chiave() THEN
    anello.hash := sigillo_di(testo_dell_anello(
      precedente.hash, anello.id, anello.invio_id, anello.da, anello.a, anello.chi, anello.perche, anello.quando, righe));
  ELSE
    anello.hash := invii_hash(
      precedente.hash, anello.id, anello.invio_id, anello.da, anello.a, anello.chi, anello.perche, anello.quando);
  END IF;
  INSERT INTO invii_transizioni (id, invio_id, da, a, chi, perche, quando, hash) VALUES (
    anello.id, anello.invio_id, anello.da, anello.a, anello.chi, anello.perche, anello.quando, anello.hash);
  RETURN NEW;
END
$$;
