-- What happened, written in the transaction of the change, whoever makes it. Ids and kinds alone.
-- Whoever can take the lock wakes those who listen. Who notifies commits one after the other in PostgreSQL: of many
-- transactions at once one does so, and those who listen look again a little later for the others.
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

-- Bookings came or went, many at a time where they are imported.
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

-- Saving guests counts as a change of the booking, too: it has an event of its own.
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

-- One event for each booking whose guests are saved. Those that go with their booking need none.
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

-- A row came, changed or went: kind of thing, column of its id, column of its booking.
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

-- The matter of an alarm reads `<mode> <matter> <name>=<value> …`: ids and days.
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

-- With their owner's rights they look at these tables, and not at temporary ones that the caller has made.
DO $$
DECLARE
  nome text;
BEGIN
  FOREACH nome IN ARRAY ARRAY['delle_prenotazioni', 'dei_cambi', 'degli_ospiti', 'di_riga', 'dell_invio', 'dell_allarme'] LOOP
    EXECUTE format('ALTER FUNCTION evento_%s() SET search_path = %I, pg_temp', nome, current_schema());
  END LOOP;
END
$$;
--> statement-breakpoint

CREATE TRIGGER prenotazioni_evento_nuove AFTER INSERT ON prenotazioni
  REFERENCING NEW TABLE AS righe FOR EACH STATEMENT EXECUTE FUNCTION evento_delle_prenotazioni('prenotazione.creata');
--> statement-breakpoint
CREATE TRIGGER prenotazioni_evento_tolte AFTER DELETE ON prenotazioni
  REFERENCING OLD TABLE AS righe FOR EACH STATEMENT EXECUTE FUNCTION evento_delle_prenotazioni('prenotazione.eliminata');
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
