-- Functions, triggers and first rows: the parts of the schema that drizzle's tables cannot express.

-- ============ Police registration: the states of a submission ============

-- The permitted changes of state, and the evidence that each needs. `TRANSITIONS` in the source must say the same.
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
  ('acquisito', 'da_verificare', NULL),
  ('parziale', 'da_verificare', NULL);
--> statement-breakpoint

-- Whether the evidence for a change of state is there.
CREATE FUNCTION invii_prova (invio invii, serve text) RETURNS boolean LANGUAGE sql STABLE AS $$
  SELECT CASE serve
    WHEN 'tentativo_aperto' THEN EXISTS (
      SELECT FROM invii_tentativi t WHERE t.invio_id = invio.id AND t.numero = invio.tentativo
      AND NOT EXISTS (SELECT FROM invii_esiti e WHERE e.invio_id = t.invio_id AND e.numero = t.numero))
    WHEN 'esito_K' THEN EXISTS (SELECT FROM invii_esiti e WHERE e.invio_id = invio.id AND e.esito = 'K')
    WHEN 'esito_N' THEN EXISTS (
      SELECT FROM invii_esiti e WHERE e.invio_id = invio.id AND e.numero = invio.tentativo AND e.esito = 'N')
    WHEN 'tutti_N' THEN NOT EXISTS (
      SELECT FROM invii_tentativi t WHERE t.invio_id = invio.id
      AND NOT EXISTS (
        SELECT FROM invii_esiti e WHERE e.invio_id = t.invio_id AND e.numero = t.numero AND e.esito = 'N'))
    WHEN 'ricevuta' THEN EXISTS (
      SELECT FROM invii_esiti e JOIN invii_tentativi t USING (invio_id, numero)
      JOIN ricevute r ON r.utente = invio.utente AND r.giorno IN (t.giorno_da, t.giorno_a)
      WHERE e.invio_id = invio.id AND e.esito = 'K')
    -- The rest are kinds of decisions.
    ELSE EXISTS (
      SELECT FROM invii_decisioni d WHERE d.invio_id = invio.id AND d.versione = invio.versione AND d.decisione = serve)
  END
$$;
--> statement-breakpoint

-- HMAC-SHA256 (RFC 2104) of a text. The inner and the outer block of the key are settings of the server's own sessions,
-- and nowhere in the database: a session without them cannot write to the ledger.
CREATE FUNCTION sigillo_di (testo text) RETURNS bytea LANGUAGE plpgsql STABLE AS $$
DECLARE
  interno text := coalesce(current_setting('locanda.sigillo_i', true), '');
BEGIN
  IF interno = '' THEN
    RAISE EXCEPTION 'la sessione non ha la chiave del registro' USING ERRCODE = 'LC004';
  END IF;
  RETURN sha256(decode(current_setting('locanda.sigillo_o'), 'hex') ||
    sha256(decode(interno, 'hex') || convert_to(testo, 'UTF8')));
END
$$;
--> statement-breakpoint

-- A transition as it is hashed: chained to the one before it, with the number of rows, which is fixed from the first
-- change of state on. JSON keeps the parts apart.
CREATE FUNCTION testo_dell_anello (
  precedente bytea, id integer, invio_id integer, da text, a text, chi text, perche text, quando timestamptz,
  righe integer
) RETURNS text LANGUAGE sql IMMUTABLE AS $$
  SELECT coalesce(encode(precedente, 'hex'), '') || ' ' ||
    jsonb_build_array(id, invio_id, da, a, chi, perche, extract(epoch FROM quando)::numeric(20, 3), righe)::text
$$;
--> statement-breakpoint

-- Checks, counts and records every change of state, chained by hash to the one before it.
CREATE FUNCTION invii_transizione () RETURNS trigger LANGUAGE plpgsql AS $$
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
    righe := (SELECT count(*) FROM invii_schedine WHERE invio_id = NEW.id);
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
  anello.hash := sigillo_di(testo_dell_anello(
    precedente.hash, anello.id, anello.invio_id, anello.da, anello.a, anello.chi, anello.perche, anello.quando, righe));
  INSERT INTO invii_transizioni (id, invio_id, da, a, chi, perche, quando, hash) VALUES (
    anello.id, anello.invio_id, anello.da, anello.a, anello.chi, anello.perche, anello.quando, anello.hash);
  RETURN NEW;
END
$$;
--> statement-breakpoint

-- An insert is checked after the row exists, because the transition refers to it. An update is checked before, because
-- the trigger sets the version.
CREATE TRIGGER invii_nasce AFTER INSERT ON invii FOR EACH ROW EXECUTE FUNCTION invii_transizione();
--> statement-breakpoint
CREATE TRIGGER invii_cambia BEFORE UPDATE ON invii FOR EACH ROW EXECUTE FUNCTION invii_transizione();
--> statement-breakpoint

-- Counts the submissions in each state. With the rights of its owner: the role that writes submissions need not be able
-- to write the counts.
CREATE FUNCTION invii_conta () RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
BEGIN
  IF TG_OP = 'UPDATE' THEN
    IF NEW.stato = OLD.stato THEN
      RETURN NULL;
    END IF;
    UPDATE invii_conteggi SET quanti = quanti - 1 WHERE utente = OLD.utente AND stato = OLD.stato;
  END IF;
  INSERT INTO invii_conteggi AS conto (utente, stato, quanti) VALUES (NEW.utente, NEW.stato, 1)
    ON CONFLICT (utente, stato) DO UPDATE SET quanti = conto.quanti + 1;
  RETURN NULL;
END
$$;
--> statement-breakpoint
CREATE TRIGGER invii_si_conta AFTER INSERT OR UPDATE ON invii FOR EACH ROW EXECUTE FUNCTION invii_conta();
--> statement-breakpoint

-- ============ Police registration: rows that stay as they are ============

-- A confirmed row needs a confirmation by a person.
CREATE FUNCTION schedina_nasce () RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NEW.confermata AND NOT EXISTS (SELECT FROM invii_conferme WHERE invio_id = NEW.invio_id) THEN
    RAISE EXCEPTION 'una schedina confermata vuole la sua conferma' USING ERRCODE = 'LC001';
  END IF;
  RETURN NEW;
END
$$;
--> statement-breakpoint
CREATE TRIGGER invii_schedine_nasce BEFORE INSERT ON invii_schedine FOR EACH ROW EXECUTE FUNCTION schedina_nasce();
--> statement-breakpoint

-- Only the outcome of a row changes. Its record may be erased once the submission has ended and the erasure is
-- recorded: the law requires that transmitted data are destroyed.
CREATE FUNCTION schedina_immutabile () RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF (NEW.invio_id, NEW.indice, NEW.capo, NEW.utente, NEW.prenotazione_id, NEW.permanenza,
      NEW.impronta_identita, NEW.impronta_persona, NEW.impronta_documento, NEW.confermata)
    IS DISTINCT FROM (OLD.invio_id, OLD.indice, OLD.capo, OLD.utente, OLD.prenotazione_id, OLD.permanenza,
      OLD.impronta_identita, OLD.impronta_persona, OLD.impronta_documento, OLD.confermata) THEN
    RAISE EXCEPTION 'i dati di una schedina non cambiano' USING ERRCODE = 'LC002';
  END IF;
  IF NEW.riga IS DISTINCT FROM OLD.riga AND (NEW.riga IS NOT NULL
    OR NOT EXISTS (SELECT FROM invii_cancellazioni WHERE invio_id = NEW.invio_id)
    OR NOT EXISTS (SELECT FROM invii WHERE id = NEW.invio_id
      AND stato IN ('ricevuto', 'parziale', 'rifiutato', 'non_inviato', 'depositato_altrove', 'annullato'))) THEN
    RAISE EXCEPTION 'i dati di una schedina non cambiano' USING ERRCODE = 'LC002';
  END IF;
  RETURN NEW;
END
$$;
--> statement-breakpoint
CREATE TRIGGER invii_schedine_dati BEFORE UPDATE ON invii_schedine FOR EACH ROW EXECUTE FUNCTION schedina_immutabile();
--> statement-breakpoint

-- The stored copy of a receipt may be replaced in two cases: it was downloaded before two in the morning of the next
-- day, when the day may have been incomplete, or its totals could not be read and now can.
CREATE FUNCTION ricevuta_sostituita () RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF (NEW.utente, NEW.giorno) IS DISTINCT FROM (OLD.utente, OLD.giorno) THEN
    RAISE EXCEPTION 'una ricevuta resta del suo giorno' USING ERRCODE = 'LC003';
  END IF;
  IF OLD.scaricata_il < ((OLD.giorno + 1) + time '02:00') AT TIME ZONE 'Europe/Rome' THEN
    RETURN NEW;
  END IF;
  IF (NEW.pdf, NEW.sha256, NEW.scaricata_il) IS NOT DISTINCT FROM (OLD.pdf, OLD.sha256, OLD.scaricata_il)
    AND (OLD.schedine IS NULL OR OLD.notti IS NULL)
    AND (OLD.schedine IS NULL OR NEW.schedine = OLD.schedine) AND (OLD.notti IS NULL OR NEW.notti = OLD.notti) THEN
    RETURN NEW;
  END IF;
  RAISE EXCEPTION 'una ricevuta non cambia' USING ERRCODE = 'LC003';
END
$$;
--> statement-breakpoint
CREATE TRIGGER ricevute_cambia BEFORE UPDATE ON ricevute FOR EACH ROW EXECUTE FUNCTION ricevuta_sostituita();
--> statement-breakpoint

-- ============ Tables that are only extended: the ledger, receipts, the audit log ============
CREATE FUNCTION registro_immutabile () RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'la tabella % si può solo estendere', TG_TABLE_NAME USING ERRCODE = 'LC003';
END
$$;
--> statement-breakpoint
DO $$
DECLARE
  tabella text;
BEGIN
  -- No row of these is changed or deleted.
  FOREACH tabella IN ARRAY ARRAY['invii_transizioni', 'invii_tentativi', 'invii_esiti', 'invii_decisioni',
    'invii_conferme', 'invii_correzioni', 'invii_cancellazioni', 'ricevute_letture', 'registro_chiave', 'audit_log']
  LOOP
    EXECUTE format('CREATE TRIGGER %1$s_immutabile BEFORE UPDATE OR DELETE ON %1$s
      FOR EACH STATEMENT EXECUTE FUNCTION registro_immutabile()', tabella);
  END LOOP;
  -- Other triggers say which changes of these are allowed.
  FOREACH tabella IN ARRAY ARRAY['invii', 'invii_schedine', 'ricevute'] LOOP
    EXECUTE format('CREATE TRIGGER %1$s_resta BEFORE DELETE ON %1$s
      FOR EACH STATEMENT EXECUTE FUNCTION registro_immutabile()', tabella);
  END LOOP;
  FOREACH tabella IN ARRAY ARRAY['invii', 'invii_schedine', 'invii_transizioni', 'invii_tentativi', 'invii_esiti',
    'invii_decisioni', 'invii_conferme', 'invii_correzioni', 'invii_cancellazioni', 'ricevute', 'ricevute_letture',
    'registro_chiave', 'audit_log']
  LOOP
    EXECUTE format('CREATE TRIGGER %1$s_svuota BEFORE TRUNCATE ON %1$s
      FOR EACH STATEMENT EXECUTE FUNCTION registro_immutabile()', tabella);
  END LOOP;
END
$$;
--> statement-breakpoint

-- ============ Police registration: seals ============

-- A row as it is sealed. Null columns are left out, so that a later migration can add columns. A PDF counts by its
-- hash.
CREATE FUNCTION testo_da_sigillare (tabella text, riga jsonb) RETURNS text LANGUAGE sql IMMUTABLE AS $$
  SELECT tabella || ' ' || (jsonb_strip_nulls(riga - 'sigillo' - 'pdf') || CASE WHEN riga ? 'pdf'
    THEN jsonb_build_object('pdf', encode(sha256(convert_to(riga ->> 'pdf', 'UTF8')), 'hex')) ELSE '{}' END)::text
$$;
--> statement-breakpoint

CREATE FUNCTION invii_sigilla () RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  NEW.sigillo := sigillo_di(testo_da_sigillare(TG_TABLE_NAME, to_jsonb(NEW)));
  RETURN NEW;
END
$$;
--> statement-breakpoint

-- PostgreSQL runs the triggers of a row in the order of their names: these run last, and seal the values that others
-- set.
DO $$
DECLARE
  tabella text;
BEGIN
  FOREACH tabella IN ARRAY ARRAY['invii', 'invii_schedine', 'invii_sospensioni', 'ricevute'] LOOP
    EXECUTE format('CREATE TRIGGER %1$s_sigilla BEFORE INSERT OR UPDATE ON %1$s
      FOR EACH ROW EXECUTE FUNCTION invii_sigilla()', tabella);
  END LOOP;
  FOREACH tabella IN ARRAY ARRAY['invii_tentativi', 'invii_esiti', 'invii_decisioni', 'invii_conferme',
    'invii_correzioni', 'invii_cancellazioni', 'ricevute_letture']
  LOOP
    EXECUTE format('CREATE TRIGGER %1$s_sigilla BEFORE INSERT ON %1$s
      FOR EACH ROW EXECUTE FUNCTION invii_sigilla()', tabella);
  END LOOP;
END
$$;
--> statement-breakpoint

-- ============ Notifications ============

-- Every process caches users, sessions and keys. The triggers notify all processes when access changes, also by SQL.
CREATE FUNCTION identity_changed () RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_notify('locanda_identity', TG_ARGV[0] || ':' || OLD.id);
  RETURN NULL;
END
$$;
--> statement-breakpoint
CREATE TRIGGER users_changed AFTER UPDATE ON users FOR EACH ROW
  WHEN ((OLD.app_metadata, OLD.banned_until, OLD.deleted_at)
    IS DISTINCT FROM (NEW.app_metadata, NEW.banned_until, NEW.deleted_at))
  EXECUTE FUNCTION identity_changed('user');
--> statement-breakpoint
CREATE TRIGGER users_gone AFTER DELETE ON users FOR EACH ROW EXECUTE FUNCTION identity_changed('user');
--> statement-breakpoint
CREATE TRIGGER sessions_changed AFTER UPDATE ON sessions FOR EACH ROW
  WHEN ((OLD.not_after, OLD.factor_id, OLD.amr) IS DISTINCT FROM (NEW.not_after, NEW.factor_id, NEW.amr))
  EXECUTE FUNCTION identity_changed('session');
--> statement-breakpoint
CREATE TRIGGER sessions_gone AFTER DELETE ON sessions FOR EACH ROW EXECUTE FUNCTION identity_changed('session');
--> statement-breakpoint
CREATE TRIGGER api_keys_changed AFTER UPDATE ON api_keys FOR EACH ROW
  WHEN ((OLD.scopes, OLD.expires_at, OLD.revoked_at) IS DISTINCT FROM (NEW.scopes, NEW.expires_at, NEW.revoked_at))
  EXECUTE FUNCTION identity_changed('key');
--> statement-breakpoint
CREATE TRIGGER api_keys_gone AFTER DELETE ON api_keys FOR EACH ROW EXECUTE FUNCTION identity_changed('key');
--> statement-breakpoint
CREATE TRIGGER seen_sessions_changed AFTER UPDATE ON seen_sessions FOR EACH ROW
  WHEN (OLD.revoked_at IS DISTINCT FROM NEW.revoked_at) EXECUTE FUNCTION identity_changed('session');
--> statement-breakpoint
CREATE TRIGGER seen_sessions_gone AFTER DELETE ON seen_sessions
  FOR EACH ROW EXECUTE FUNCTION identity_changed('session');
--> statement-breakpoint

-- The verified factors of a user decide whether a second factor is required: all sessions and keys of the user are read
-- again.
CREATE FUNCTION factor_changed () RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_notify('locanda_identity', 'user:' || OLD.user_id);
  RETURN NULL;
END
$$;
--> statement-breakpoint
CREATE TRIGGER factors_changed AFTER UPDATE ON factors FOR EACH ROW
  WHEN (OLD.status IS DISTINCT FROM NEW.status) EXECUTE FUNCTION factor_changed();
--> statement-breakpoint
CREATE TRIGGER factors_gone AFTER DELETE ON factors FOR EACH ROW EXECUTE FUNCTION factor_changed();
--> statement-breakpoint

-- Every process caches the settings.
CREATE FUNCTION settings_changed () RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_notify('locanda_identity', 'settings:' || TG_ARGV[0]);
  RETURN NULL;
END
$$;
--> statement-breakpoint
CREATE TRIGGER feature_flags_changed AFTER INSERT OR UPDATE OR DELETE OR TRUNCATE ON feature_flags
  FOR EACH STATEMENT EXECUTE FUNCTION settings_changed('features');
--> statement-breakpoint
CREATE TRIGGER maintenance_changed AFTER INSERT OR UPDATE OR DELETE OR TRUNCATE ON maintenance
  FOR EACH STATEMENT EXECUTE FUNCTION settings_changed('maintenance');
--> statement-breakpoint

-- ============ Bookings ============

-- Counts the bookings of each country. The functions run with the rights of their owner: the role that writes bookings
-- need not be able to write the counts. Each statement writes the countries in order, so that two statements cannot
-- deadlock.
CREATE FUNCTION prenotazioni_aggiunte () RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
BEGIN
  INSERT INTO prenotazioni_per_paese AS conto (paese_id, totale)
    SELECT paese_id, count(*) FROM nuove GROUP BY paese_id ORDER BY paese_id
    ON CONFLICT (paese_id) DO UPDATE SET totale = conto.totale + excluded.totale;
  RETURN NULL;
END
$$;
--> statement-breakpoint
CREATE FUNCTION prenotazioni_tolte () RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
BEGIN
  INSERT INTO prenotazioni_per_paese AS conto (paese_id, totale)
    SELECT paese_id, -count(*) FROM vecchie GROUP BY paese_id ORDER BY paese_id
    ON CONFLICT (paese_id) DO UPDATE SET totale = conto.totale + excluded.totale;
  RETURN NULL;
END
$$;
--> statement-breakpoint
CREATE FUNCTION prenotazioni_cambiate () RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
BEGIN
  INSERT INTO prenotazioni_per_paese AS conto (paese_id, totale)
    SELECT paese_id, sum(quante) FROM (
      SELECT paese_id, 1 AS quante FROM nuove UNION ALL SELECT paese_id, -1 FROM vecchie
    ) AS cambi GROUP BY paese_id HAVING sum(quante) <> 0 ORDER BY paese_id
    ON CONFLICT (paese_id) DO UPDATE SET totale = conto.totale + excluded.totale;
  RETURN NULL;
END
$$;
--> statement-breakpoint
CREATE FUNCTION prenotazioni_svuotate () RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
BEGIN
  DELETE FROM prenotazioni_per_paese;
  RETURN NULL;
END
$$;
--> statement-breakpoint
CREATE TRIGGER prenotazioni_conta_aggiunte AFTER INSERT ON prenotazioni
  REFERENCING NEW TABLE AS nuove FOR EACH STATEMENT EXECUTE FUNCTION prenotazioni_aggiunte();
--> statement-breakpoint
CREATE TRIGGER prenotazioni_conta_tolte AFTER DELETE ON prenotazioni
  REFERENCING OLD TABLE AS vecchie FOR EACH STATEMENT EXECUTE FUNCTION prenotazioni_tolte();
--> statement-breakpoint
CREATE TRIGGER prenotazioni_conta_cambi AFTER UPDATE ON prenotazioni
  REFERENCING OLD TABLE AS vecchie NEW TABLE AS nuove FOR EACH STATEMENT EXECUTE FUNCTION prenotazioni_cambiate();
--> statement-breakpoint
CREATE TRIGGER prenotazioni_conta_svuota AFTER TRUNCATE ON prenotazioni
  FOR EACH STATEMENT EXECUTE FUNCTION prenotazioni_svuotate();
--> statement-breakpoint

-- The index of the search in bookings: trigrams of three columns. Where the role may not create the extension, the
-- search works without the index, slowly, and every start of the server tries again.
CREATE FUNCTION prenotazioni_indice_ricerca () RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
  estensione text;
BEGIN
  IF to_regclass('prenotazioni_ricerca') IS NOT NULL THEN
    RETURN true;
  END IF;
  -- Servers that start together make it once.
  LOCK TABLE prenotazioni IN SHARE ROW EXCLUSIVE MODE;
  BEGIN
    CREATE EXTENSION IF NOT EXISTS pg_trgm;
  EXCEPTION WHEN OTHERS THEN
    -- No right, not among the extensions of this server, a function of its name: each is no reason not to start.
    RETURN false;
  END;
  -- It may have been there before, in a schema that is not searched.
  SELECT quote_ident(n.nspname) INTO STRICT estensione
  FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace WHERE e.extname = 'pg_trgm';
  EXECUTE format('CREATE INDEX IF NOT EXISTS prenotazioni_ricerca ON prenotazioni USING gin (
    nome_cognome %1$s.gin_trgm_ops, idf_gen %1$s.gin_trgm_ops, email %1$s.gin_trgm_ops)', estensione);
  RETURN true;
EXCEPTION WHEN insufficient_privilege THEN
  -- The tables are another role's.
  RETURN false;
END $$;
--> statement-breakpoint
SELECT prenotazioni_indice_ricerca();
--> statement-breakpoint

-- ============ Files ============

-- The buckets of the product. `schemas/storage.ts` has the same names.
INSERT INTO buckets (id, public) VALUES
  ('documents', false), ('avatars', false), ('letters', false), ('reports', false), ('public', true);
--> statement-breakpoint

-- The first generation of the key that wraps the keys of files. The salt is no secret, but unique to each installation.
INSERT INTO storage_keys (salt) VALUES (
  decode(replace(gen_random_uuid()::text || gen_random_uuid()::text, '-', ''), 'hex'));
--> statement-breakpoint
INSERT INTO file_store DEFAULT VALUES;
--> statement-breakpoint

-- ============ Events ============

-- Triggers write an event in the transaction of the change. An event holds ids and kinds, no data of persons.

-- Wakes the listeners. Only the transaction that gets the lock notifies, because PostgreSQL serializes the commits of
-- notifying transactions. Listeners look again a little later for the events of the others.
CREATE FUNCTION evento_sveglia () RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  IF pg_try_advisory_xact_lock(168184) THEN
    PERFORM pg_notify('locanda_identity', 'events:');
  END IF;
END
$$;
--> statement-breakpoint
CREATE FUNCTION evento_annota (tipo text, oggetto text, prenotazione integer, dettaglio text DEFAULT NULL)
RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO eventi_in_arrivo (transazione, tipo, oggetto, prenotazione_id, dettaglio)
    VALUES (pg_current_xact_id()::text::bigint, tipo, oggetto, prenotazione, dettaglio)
    ON CONFLICT DO NOTHING;
  PERFORM evento_sveglia();
END
$$;
--> statement-breakpoint

-- Bookings were created or deleted, many at a time in an import.
CREATE FUNCTION evento_delle_prenotazioni () RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
BEGIN
  INSERT INTO eventi_in_arrivo (transazione, tipo, oggetto, prenotazione_id)
    SELECT pg_current_xact_id()::text::bigint, TG_ARGV[0], 'prenotazione:' || id, id FROM righe ORDER BY id
    ON CONFLICT DO NOTHING;
  IF FOUND THEN
    PERFORM evento_sveglia();
  END IF;
  RETURN NULL;
END
$$;
--> statement-breakpoint

-- Bookings were changed. Saving guests also changes the booking, and has an event of its own.
CREATE FUNCTION evento_dei_cambi () RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
BEGIN
  INSERT INTO eventi_in_arrivo (transazione, tipo, oggetto, prenotazione_id)
    SELECT pg_current_xact_id()::text::bigint, 'prenotazione.modificata', 'prenotazione:' || r.id, r.id
    FROM righe r JOIN vecchie v ON v.id = r.id
    WHERE to_jsonb(r) - '{versione,updated_at,schedine_cambiate_il}'::text[]
      IS DISTINCT FROM to_jsonb(v) - '{versione,updated_at,schedine_cambiate_il}'::text[]
    ORDER BY r.id
    ON CONFLICT DO NOTHING;
  IF FOUND THEN
    PERFORM evento_sveglia();
  END IF;
  RETURN NULL;
END
$$;
--> statement-breakpoint

-- One event for each booking whose guests were saved. Guests that are deleted with their booking need none.
CREATE FUNCTION evento_degli_ospiti () RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
BEGIN
  INSERT INTO eventi_in_arrivo (transazione, tipo, oggetto, prenotazione_id)
    SELECT pg_current_xact_id()::text::bigint, 'ospiti.modificati', 'prenotazione:' || p.id, p.id
    FROM prenotazioni p WHERE p.id IN (SELECT prenotazione_id FROM righe) ORDER BY p.id
    ON CONFLICT DO NOTHING;
  IF FOUND THEN
    PERFORM evento_sveglia();
  END IF;
  RETURN NULL;
END
$$;
--> statement-breakpoint

-- A row was created, changed or deleted. The arguments: kind of thing, column of its id, column of its booking.
CREATE FUNCTION evento_di_riga () RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
DECLARE
  riga jsonb;
BEGIN
  IF TG_OP = 'DELETE' THEN
    riga := to_jsonb(OLD);
  ELSE
    riga := to_jsonb(NEW);
  END IF;
  PERFORM evento_annota(
    TG_ARGV[0] || CASE TG_OP WHEN 'INSERT' THEN '.creata' WHEN 'UPDATE' THEN '.modificata' ELSE '.eliminata' END,
    TG_ARGV[0] || ':' || (riga ->> TG_ARGV[1]),
    (riga ->> TG_ARGV[2])::integer
  );
  RETURN NULL;
END
$$;
--> statement-breakpoint
CREATE FUNCTION evento_dell_invio () RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
BEGIN
  PERFORM evento_annota('invio.' || NEW.stato, 'invio:' || NEW.id, NEW.prenotazione_id);
  RETURN NULL;
END
$$;
--> statement-breakpoint

-- The subject of an alarm reads `<mode> <subject> <name>=<value> …`: ids and days.
CREATE FUNCTION evento_dell_allarme () RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
DECLARE
  materia text := split_part(NEW.argomento, ' ', 2);
  prenotazione integer := substring(NEW.argomento FROM ' prenotazione=(\d+)');
BEGIN
  PERFORM evento_annota(
    'allarme.sollevato',
    coalesce(
      'invio:' || substring(NEW.argomento FROM ' invio=(\d+)'),
      'prenotazione:' || prenotazione,
      'giorno:' || substring(NEW.argomento FROM ' giorno=([0-9-]+)'),
      'allarme:' || materia
    ),
    prenotazione,
    materia
  );
  RETURN NULL;
END
$$;
--> statement-breakpoint

-- A second factor was verified for the first time, or a verified one was removed. A deleted user needs no event.
CREATE FUNCTION evento_del_fattore () RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
BEGIN
  IF TG_OP = 'DELETE' THEN
    IF EXISTS (SELECT FROM users WHERE id = OLD.user_id) THEN
      PERFORM evento_annota('fattore.tolto', 'utente:' || OLD.user_id, NULL, OLD.factor_type);
    END IF;
  ELSE
    PERFORM evento_annota('fattore.aggiunto', 'utente:' || NEW.user_id, NULL, NEW.factor_type);
  END IF;
  RETURN NULL;
END
$$;
--> statement-breakpoint
CREATE TRIGGER prenotazioni_evento_nuove AFTER INSERT ON prenotazioni
  REFERENCING NEW TABLE AS righe FOR EACH STATEMENT EXECUTE FUNCTION evento_delle_prenotazioni('prenotazione.creata');
--> statement-breakpoint
CREATE TRIGGER prenotazioni_evento_tolte AFTER DELETE ON prenotazioni
  REFERENCING OLD TABLE AS righe FOR EACH STATEMENT
  EXECUTE FUNCTION evento_delle_prenotazioni('prenotazione.eliminata');
--> statement-breakpoint
CREATE TRIGGER prenotazioni_evento_cambi AFTER UPDATE ON prenotazioni
  REFERENCING OLD TABLE AS vecchie NEW TABLE AS righe FOR EACH STATEMENT EXECUTE FUNCTION evento_dei_cambi();
--> statement-breakpoint
CREATE TRIGGER ospiti_evento_aggiunti AFTER INSERT ON ospiti
  REFERENCING NEW TABLE AS righe FOR EACH STATEMENT EXECUTE FUNCTION evento_degli_ospiti();
--> statement-breakpoint
CREATE TRIGGER ospiti_evento_cambiati AFTER UPDATE ON ospiti
  REFERENCING NEW TABLE AS righe FOR EACH STATEMENT EXECUTE FUNCTION evento_degli_ospiti();
--> statement-breakpoint
CREATE TRIGGER ospiti_evento_tolti AFTER DELETE ON ospiti
  REFERENCING OLD TABLE AS righe FOR EACH STATEMENT EXECUTE FUNCTION evento_degli_ospiti();
--> statement-breakpoint
CREATE TRIGGER invii_evento AFTER INSERT ON invii FOR EACH ROW EXECUTE FUNCTION evento_dell_invio();
--> statement-breakpoint
CREATE TRIGGER invii_evento_stato AFTER UPDATE ON invii FOR EACH ROW
  WHEN (OLD.stato IS DISTINCT FROM NEW.stato) EXECUTE FUNCTION evento_dell_invio();
--> statement-breakpoint
CREATE TRIGGER ricevute_evento AFTER INSERT OR UPDATE ON ricevute
  FOR EACH ROW EXECUTE FUNCTION evento_di_riga('ricevuta', 'giorno');
--> statement-breakpoint
CREATE TRIGGER lettere_benvenuto_evento AFTER INSERT OR DELETE ON lettere_benvenuto
  FOR EACH ROW EXECUTE FUNCTION evento_di_riga('lettera', 'id', 'prenotazione_id');
--> statement-breakpoint
CREATE TRIGGER scansioni_evento AFTER INSERT OR UPDATE OR DELETE ON scansioni
  FOR EACH ROW EXECUTE FUNCTION evento_di_riga('scansione', 'id', 'prenotazione_id');
--> statement-breakpoint
CREATE TRIGGER allarmi_evento AFTER INSERT ON allarmi FOR EACH ROW EXECUTE FUNCTION evento_dell_allarme();
--> statement-breakpoint
CREATE TRIGGER factors_evento_nuovo AFTER INSERT ON factors FOR EACH ROW
  WHEN (NEW.status = 'verified') EXECUTE FUNCTION evento_del_fattore();
--> statement-breakpoint
CREATE TRIGGER factors_evento_provato AFTER UPDATE ON factors FOR EACH ROW
  WHEN (OLD.status <> 'verified' AND NEW.status = 'verified') EXECUTE FUNCTION evento_del_fattore();
--> statement-breakpoint
CREATE TRIGGER factors_evento_tolto AFTER DELETE ON factors FOR EACH ROW
  WHEN (OLD.status = 'verified') EXECUTE FUNCTION evento_del_fattore();
--> statement-breakpoint

-- ============ Rights of the owner ============

-- Functions with the rights of their owner read the tables of this schema, never temporary tables of the caller. A later
-- migration that adds such a function does the same for it.
DO $$
DECLARE
  funzione text;
BEGIN
  FOREACH funzione IN ARRAY ARRAY['invii_conta', 'prenotazioni_aggiunte', 'prenotazioni_tolte', 'prenotazioni_cambiate',
    'prenotazioni_svuotate', 'evento_delle_prenotazioni', 'evento_dei_cambi', 'evento_degli_ospiti', 'evento_di_riga',
    'evento_dell_invio', 'evento_dell_allarme', 'evento_del_fattore']
  LOOP
    EXECUTE format('ALTER FUNCTION %s() SET search_path = %I, pg_temp', funzione, current_schema());
  END LOOP;
END
$$;
