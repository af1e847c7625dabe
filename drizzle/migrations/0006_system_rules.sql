-- How many bookings each country has. The functions run with the rights of their owner: whoever may write bookings need
-- not be able to write the counts. In one statement the countries come in order, so that two writers wait for each other
-- and never in a circle.
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
CREATE FUNCTION prenotazioni_di_altro_paese () RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
BEGIN
  INSERT INTO prenotazioni_per_paese AS conto (paese_id, totale)
    SELECT * FROM (VALUES (OLD.paese_id, -1), (NEW.paese_id, 1)) AS cambi (paese_id, totale) ORDER BY paese_id
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
-- With their owner's rights they look at these tables, and not at temporary ones that the caller has made.
DO $$
DECLARE
  conto text;
BEGIN
  FOREACH conto IN ARRAY ARRAY['aggiunte', 'tolte', 'di_altro_paese', 'svuotate'] LOOP
    EXECUTE format('ALTER FUNCTION prenotazioni_%s() SET search_path = %I, pg_temp', conto, current_schema());
  END LOOP;
END
$$;
--> statement-breakpoint
CREATE TRIGGER prenotazioni_conta_aggiunte AFTER INSERT ON prenotazioni
  REFERENCING NEW TABLE AS nuove FOR EACH STATEMENT EXECUTE FUNCTION prenotazioni_aggiunte();
--> statement-breakpoint
CREATE TRIGGER prenotazioni_conta_tolte AFTER DELETE ON prenotazioni
  REFERENCING OLD TABLE AS vecchie FOR EACH STATEMENT EXECUTE FUNCTION prenotazioni_tolte();
--> statement-breakpoint
CREATE TRIGGER prenotazioni_conta_cambi AFTER UPDATE OF paese_id ON prenotazioni FOR EACH ROW
  WHEN (OLD.paese_id IS DISTINCT FROM NEW.paese_id) EXECUTE FUNCTION prenotazioni_di_altro_paese();
--> statement-breakpoint
CREATE TRIGGER prenotazioni_conta_svuota AFTER TRUNCATE ON prenotazioni
  FOR EACH STATEMENT EXECUTE FUNCTION prenotazioni_svuotate();
--> statement-breakpoint
-- The triggers hold the table until the end of this migration: nothing is counted twice, nothing missed.
INSERT INTO prenotazioni_per_paese (paese_id, totale) SELECT paese_id, count(*) FROM prenotazioni GROUP BY paese_id;
--> statement-breakpoint

-- Every process keeps the settings in memory. The channel keeps the name that processes of the version before listen to.
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
