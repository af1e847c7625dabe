-- The ledger and the audit log have one plain SHA-256 chain each, computed by triggers. Keyed seals are dropped.

-- ============ Seals ============

DO $$
DECLARE
  tabella text;
BEGIN
  FOREACH tabella IN ARRAY ARRAY['invii', 'invii_schedine', 'invii_sospensioni', 'ricevute', 'invii_tentativi',
    'invii_esiti', 'invii_decisioni', 'invii_conferme', 'invii_correzioni', 'invii_cancellazioni', 'ricevute_letture']
  LOOP
    EXECUTE format('DROP TRIGGER %1$s_sigilla ON %1$s', tabella);
    EXECUTE format('ALTER TABLE %s DROP COLUMN sigillo', tabella);
  END LOOP;
END
$$;
--> statement-breakpoint
DROP FUNCTION invii_sigilla();
--> statement-breakpoint
DROP FUNCTION testo_da_sigillare(text, jsonb);
--> statement-breakpoint

-- ============ Chains ============

-- The hash of a row of a chain covers the hash before it and the row as JSON text, which keeps the columns apart. Null
-- columns are left out, so that a later migration can add a column. The text of an instant depends on the time zone of
-- the session, which is UTC wherever this function is called.
CREATE FUNCTION catena_hash (precedente bytea, riga jsonb) RETURNS bytea LANGUAGE sql STABLE AS $$
  SELECT sha256(coalesce(precedente, '') || convert_to((
    SELECT jsonb_object_agg(key, value) FROM jsonb_each(riga - 'hash') WHERE value <> 'null')::text, 'UTF8'))
$$;
--> statement-breakpoint

-- Checks, counts and records every change of state, chained by hash to the one before it.
CREATE OR REPLACE FUNCTION invii_transizione () RETURNS trigger LANGUAGE plpgsql SET timezone TO 'UTC' AS $$
DECLARE
  ammessa invii_transizioni_ammesse;
  precedente invii_transizioni;
  anello invii_transizioni;
BEGIN
  IF TG_OP = 'INSERT' THEN
    IF NEW.stato <> 'pronto' OR NEW.versione <> 0 OR NEW.tentativo <> 0 THEN
      RAISE EXCEPTION 'un invio nasce pronto, non %', NEW.stato USING ERRCODE = 'LC001';
    END IF;
  ELSE
    IF (NEW.id, NEW.ricevuta, NEW.utente, NEW.operatore, NEW.metodo, NEW.id_appartamento, NEW.prenotazione_id,
        NEW.data_arrivo, NEW.permanenza, NEW.scadenza, NEW.creato_il, NEW.versione)
      IS DISTINCT FROM (OLD.id, OLD.ricevuta, OLD.utente, OLD.operatore, OLD.metodo, OLD.id_appartamento,
        OLD.prenotazione_id, OLD.data_arrivo, OLD.permanenza, OLD.scadenza, OLD.creato_il, OLD.versione) THEN
      RAISE EXCEPTION 'i dati di un invio non cambiano' USING ERRCODE = 'LC002';
    END IF;
    IF NEW.tentativo <> OLD.tentativo +
      (CASE WHEN OLD.stato = 'preso' AND NEW.stato = 'in_invio' THEN 1 ELSE 0 END) THEN
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
      RAISE EXCEPTION 'transizione senza prova: % -> % vuole %', OLD.stato, NEW.stato, ammessa.serve
        USING ERRCODE = 'LC001';
    END IF;
    NEW.versione := OLD.versione + 1;
    anello.da := OLD.stato;
  END IF;
  anello.invio_id := NEW.id;
  anello.a := NEW.stato;
  anello.chi := coalesce(nullif(current_setting('locanda.chi', true), ''), 'sistema');
  anello.perche := coalesce(current_setting('locanda.perche', true), '');
  -- To the millisecond, as the column stores it: the hash must be computable from the row.
  anello.quando := clock_timestamp()::timestamptz(3);
  -- There is one chain: writers queue until the one before has committed.
  PERFORM pg_advisory_xact_lock(168175);
  SELECT * INTO precedente FROM invii_transizioni ORDER BY id DESC LIMIT 1;
  anello.id := coalesce(precedente.id, 0) + 1;
  anello.hash := catena_hash(precedente.hash, to_jsonb(anello));
  INSERT INTO invii_transizioni SELECT anello.*;
  RETURN NEW;
END
$$;
--> statement-breakpoint
DROP FUNCTION testo_dell_anello(bytea, integer, integer, text, text, text, text, timestamptz, integer);
--> statement-breakpoint
DROP FUNCTION sigillo_di(text);
--> statement-breakpoint

-- Numbers and chains a row of the audit log.
CREATE FUNCTION audit_log_incatena () RETURNS trigger LANGUAGE plpgsql SET timezone TO 'UTC' AS $$
DECLARE
  precedente audit_log;
BEGIN
  -- There is one chain: writers queue until the one before has committed.
  PERFORM pg_advisory_xact_lock(168180);
  SELECT * INTO precedente FROM audit_log ORDER BY id DESC LIMIT 1;
  NEW.id := coalesce(precedente.id, 0) + 1;
  NEW.hash := catena_hash(precedente.hash, to_jsonb(NEW));
  RETURN NEW;
END
$$;
--> statement-breakpoint
ALTER TABLE audit_log ALTER COLUMN id SET DEFAULT 0, ALTER COLUMN at SET DEFAULT clock_timestamp(),
  ALTER COLUMN hash SET DEFAULT '';
--> statement-breakpoint
CREATE TRIGGER audit_log_catena BEFORE INSERT ON audit_log FOR EACH ROW EXECUTE FUNCTION audit_log_incatena();
--> statement-breakpoint

-- ============ The chains of 0.1.0, computed anew ============

ALTER TABLE invii_transizioni DISABLE TRIGGER USER;
--> statement-breakpoint
ALTER TABLE audit_log DISABLE TRIGGER USER;
--> statement-breakpoint
DO $$
DECLARE
  riga record;
  precedente bytea;
BEGIN
  PERFORM set_config('timezone', 'UTC', true);
  FOR riga IN SELECT * FROM invii_transizioni ORDER BY id LOOP
    precedente := catena_hash(precedente, to_jsonb(riga));
    UPDATE invii_transizioni SET hash = precedente WHERE id = riga.id;
  END LOOP;
  precedente := NULL;
  FOR riga IN SELECT * FROM audit_log ORDER BY id LOOP
    precedente := catena_hash(precedente, to_jsonb(riga));
    UPDATE audit_log SET hash = precedente WHERE id = riga.id;
  END LOOP;
END
$$;
--> statement-breakpoint
ALTER TABLE invii_transizioni ENABLE TRIGGER USER;
--> statement-breakpoint
ALTER TABLE audit_log ENABLE TRIGGER USER;
