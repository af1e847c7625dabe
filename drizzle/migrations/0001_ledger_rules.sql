-- The ledger's rules, kept by the database itself, whatever process or person writes to it.

INSERT INTO invii_transizioni_ammesse (da, a, serve) VALUES
  ('pronto', 'preso', NULL),
  ('pronto', 'non_inviato', 'tutti_N'),
  ('pronto', 'da_verificare', NULL),
  ('preso', 'pronto', NULL),
  ('preso', 'non_inviato', 'tutti_N'),
  ('preso', 'rifiutato', 'tutti_N'),
  ('preso', 'da_verificare', NULL),
  ('preso', 'in_invio', 'tentativo_aperto'),
  ('in_invio', 'acquisito', 'esito_K'),
  ('in_invio', 'parziale', 'esito_K'),
  ('in_invio', 'rifiutato', 'tutti_N'),
  ('in_invio', 'non_inviato', 'tutti_N'),
  ('in_invio', 'pronto', 'esito_N'),
  ('in_invio', 'sconosciuto', NULL),
  ('sconosciuto', 'acquisito', 'esito_K'),
  ('sconosciuto', 'parziale', 'esito_K'),
  ('sconosciuto', 'rifiutato', 'tutti_N'),
  ('sconosciuto', 'non_inviato', 'tutti_N'),
  ('sconosciuto', 'pronto', 'tutti_N'),
  ('sconosciuto', 'da_verificare', NULL),
  ('da_verificare', 'acquisito', 'esito_K'),
  ('da_verificare', 'parziale', 'esito_K'),
  ('da_verificare', 'pronto', 'reinvia'),
  ('da_verificare', 'depositato_altrove', 'depositato'),
  ('da_verificare', 'annullato', 'annulla'),
  ('acquisito', 'ricevuto', 'ricevuta'),
  ('parziale', 'ricevuto', 'ricevuta'),
  ('acquisito', 'da_verificare', NULL),
  ('parziale', 'da_verificare', NULL);
--> statement-breakpoint

-- What must stand beside a change of state.
CREATE FUNCTION invii_prova (invio invii, serve text) RETURNS boolean LANGUAGE sql STABLE AS $$
  SELECT CASE serve
    WHEN 'tentativo_aperto' THEN EXISTS (
      SELECT FROM invii_tentativi t WHERE t.invio_id = invio.id AND t.numero = invio.tentativo
      AND NOT EXISTS (SELECT FROM invii_esiti e WHERE e.invio_id = t.invio_id AND e.numero = t.numero))
    WHEN 'esito_K' THEN EXISTS (SELECT FROM invii_esiti e WHERE e.invio_id = invio.id AND e.esito = 'K')
    WHEN 'esito_N' THEN EXISTS (SELECT FROM invii_esiti e WHERE e.invio_id = invio.id AND e.numero = invio.tentativo AND e.esito = 'N')
    WHEN 'tutti_N' THEN NOT EXISTS (
      SELECT FROM invii_tentativi t WHERE t.invio_id = invio.id
      AND NOT EXISTS (SELECT FROM invii_esiti e WHERE e.invio_id = t.invio_id AND e.numero = t.numero AND e.esito = 'N'))
    WHEN 'ricevuta' THEN EXISTS (
      SELECT FROM invii_esiti e JOIN invii_tentativi t USING (invio_id, numero)
      JOIN ricevute r ON r.utente = invio.utente AND r.giorno IN (t.giorno_da, t.giorno_a)
      WHERE e.invio_id = invio.id AND e.esito = 'K')
    -- The rest are kinds of decisions.
    ELSE EXISTS (SELECT FROM invii_decisioni d WHERE d.invio_id = invio.id AND d.versione = invio.versione AND d.decisione = serve)
  END
$$;
--> statement-breakpoint

-- Every change of state is checked, counted and written down, chained by hash to the one before.
CREATE FUNCTION invii_transizione () RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  ammessa invii_transizioni_ammesse;
  precedente invii_transizioni;
  chi text := coalesce(nullif(current_setting('locanda.chi', true), ''), 'sistema');
  perche text := coalesce(current_setting('locanda.perche', true), '');
  -- To the millisecond, as it is kept: the hash must be computable from the row.
  quando timestamptz(3) := clock_timestamp();
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
  END IF;
  -- One chain: writers queue until the one before has committed.
  PERFORM pg_advisory_xact_lock(168175);
  SELECT * INTO precedente FROM invii_transizioni ORDER BY id DESC LIMIT 1;
  INSERT INTO invii_transizioni (id, invio_id, da, a, chi, perche, quando, hash) VALUES (
    coalesce(precedente.id, 0) + 1, NEW.id, CASE WHEN TG_OP = 'UPDATE' THEN OLD.stato END, NEW.stato, chi, perche, quando,
    invii_hash(precedente.hash, coalesce(precedente.id, 0) + 1, NEW.id, CASE WHEN TG_OP = 'UPDATE' THEN OLD.stato END, NEW.stato, chi, perche, quando));
  RETURN NEW;
END
$$;
--> statement-breakpoint

-- The hash of a transition over the one before it: JSON keeps the parts apart.
CREATE FUNCTION invii_hash (precedente bytea, id integer, invio_id integer, da text, a text, chi text, perche text, quando timestamptz)
RETURNS bytea LANGUAGE sql STABLE AS $$
  SELECT sha256(coalesce(precedente, '') || convert_to(
    jsonb_build_array(id, invio_id, da, a, chi, perche, extract(epoch FROM quando)::numeric(20, 3))::text, 'UTF8'))
$$;
--> statement-breakpoint

-- Insert is checked after the row exists (the transition refers to it), update before (the version is set).
CREATE TRIGGER invii_nasce AFTER INSERT ON invii FOR EACH ROW EXECUTE FUNCTION invii_transizione();
--> statement-breakpoint
CREATE TRIGGER invii_cambia BEFORE UPDATE ON invii FOR EACH ROW EXECUTE FUNCTION invii_transizione();
--> statement-breakpoint

CREATE FUNCTION registro_immutabile () RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'la tabella % si può solo estendere', TG_TABLE_NAME USING ERRCODE = 'LC003';
END
$$;
--> statement-breakpoint
CREATE TRIGGER invii_resta BEFORE DELETE ON invii FOR EACH STATEMENT EXECUTE FUNCTION registro_immutabile();
--> statement-breakpoint
-- Of a row only what the service said of it changes: the record and its fingerprints stay as they were written.
CREATE FUNCTION schedina_immutabile () RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF (NEW.invio_id, NEW.indice, NEW.capo, NEW.utente, NEW.riga, NEW.permanenza, NEW.impronta_contenuto, NEW.impronta_identita)
    IS DISTINCT FROM (OLD.invio_id, OLD.indice, OLD.capo, OLD.utente, OLD.riga, OLD.permanenza, OLD.impronta_contenuto, OLD.impronta_identita) THEN
    RAISE EXCEPTION 'i dati di una schedina non cambiano' USING ERRCODE = 'LC002';
  END IF;
  RETURN NEW;
END
$$;
--> statement-breakpoint
CREATE TRIGGER invii_schedine_dati BEFORE UPDATE ON invii_schedine FOR EACH ROW EXECUTE FUNCTION schedina_immutabile();
--> statement-breakpoint
CREATE TRIGGER invii_schedine_resta BEFORE DELETE ON invii_schedine FOR EACH STATEMENT EXECUTE FUNCTION registro_immutabile();
--> statement-breakpoint
CREATE TRIGGER invii_tentativi_immutabile BEFORE UPDATE OR DELETE ON invii_tentativi FOR EACH STATEMENT EXECUTE FUNCTION registro_immutabile();
--> statement-breakpoint
CREATE TRIGGER invii_esiti_immutabile BEFORE UPDATE OR DELETE ON invii_esiti FOR EACH STATEMENT EXECUTE FUNCTION registro_immutabile();
--> statement-breakpoint
CREATE TRIGGER invii_transizioni_immutabile BEFORE UPDATE OR DELETE ON invii_transizioni FOR EACH STATEMENT EXECUTE FUNCTION registro_immutabile();
--> statement-breakpoint
CREATE TRIGGER invii_decisioni_immutabile BEFORE UPDATE OR DELETE ON invii_decisioni FOR EACH STATEMENT EXECUTE FUNCTION registro_immutabile();
--> statement-breakpoint
CREATE TRIGGER ricevute_immutabile BEFORE UPDATE OR DELETE ON ricevute FOR EACH STATEMENT EXECUTE FUNCTION registro_immutabile();
--> statement-breakpoint
CREATE TRIGGER ricevute_letture_immutabile BEFORE UPDATE OR DELETE ON ricevute_letture FOR EACH STATEMENT EXECUTE FUNCTION registro_immutabile();
--> statement-breakpoint
CREATE TRIGGER invii_transizioni_svuota BEFORE TRUNCATE ON invii_transizioni FOR EACH STATEMENT EXECUTE FUNCTION registro_immutabile();
--> statement-breakpoint
CREATE TRIGGER invii_svuota BEFORE TRUNCATE ON invii FOR EACH STATEMENT EXECUTE FUNCTION registro_immutabile();
--> statement-breakpoint
CREATE TRIGGER invii_schedine_svuota BEFORE TRUNCATE ON invii_schedine FOR EACH STATEMENT EXECUTE FUNCTION registro_immutabile();
--> statement-breakpoint
CREATE TRIGGER invii_tentativi_svuota BEFORE TRUNCATE ON invii_tentativi FOR EACH STATEMENT EXECUTE FUNCTION registro_immutabile();
--> statement-breakpoint
CREATE TRIGGER invii_esiti_svuota BEFORE TRUNCATE ON invii_esiti FOR EACH STATEMENT EXECUTE FUNCTION registro_immutabile();
--> statement-breakpoint
CREATE TRIGGER invii_decisioni_svuota BEFORE TRUNCATE ON invii_decisioni FOR EACH STATEMENT EXECUTE FUNCTION registro_immutabile();
--> statement-breakpoint
CREATE TRIGGER ricevute_svuota BEFORE TRUNCATE ON ricevute FOR EACH STATEMENT EXECUTE FUNCTION registro_immutabile();
--> statement-breakpoint
CREATE TRIGGER ricevute_letture_svuota BEFORE TRUNCATE ON ricevute_letture FOR EACH STATEMENT EXECUTE FUNCTION registro_immutabile();
