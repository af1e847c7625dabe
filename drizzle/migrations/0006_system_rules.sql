-- How many bookings each country has. The functions run with the rights of their owner: whoever may write bookings need
-- not be able to write the counts. Each statement writes every country once, and the countries in order, so that two
-- statements do not wait for each other in a circle.
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
-- With their owner's rights they look at these tables, and not at temporary ones that the caller has made.
DO $$
DECLARE
  conto text;
BEGIN
  FOREACH conto IN ARRAY ARRAY['aggiunte', 'tolte', 'cambiate', 'svuotate'] LOOP
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
CREATE TRIGGER prenotazioni_conta_cambi AFTER UPDATE ON prenotazioni
  REFERENCING OLD TABLE AS vecchie NEW TABLE AS nuove FOR EACH STATEMENT EXECUTE FUNCTION prenotazioni_cambiate();
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
--> statement-breakpoint

-- Days and instants that the API can show, for those who write by SQL. Rows from before are not looked at.
ALTER TABLE prenotazioni ADD CONSTRAINT prenotazioni_date_del_calendario CHECK (
  check_in BETWEEN '0001-01-01' AND '9999-12-31' AND check_out BETWEEN '0001-01-01' AND '9999-12-31'
  AND isfinite(created_at) AND isfinite(updated_at)
) NOT VALID;
--> statement-breakpoint
ALTER TABLE ospiti ADD CONSTRAINT ospiti_data_del_calendario CHECK (
  data_nascita BETWEEN '0001-01-01' AND '9999-12-31'
) NOT VALID;
