-- The event of a changed booking names the new state, when the state has changed.
CREATE OR REPLACE FUNCTION evento_dei_cambi () RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
BEGIN
  INSERT INTO eventi_in_arrivo (transazione, tipo, oggetto, prenotazione_id, dettaglio)
    SELECT pg_current_xact_id()::text::bigint, 'prenotazione.modificata', 'prenotazione:' || r.id, r.id,
      CASE WHEN r.stato <> v.stato THEN r.stato END
    FROM righe r JOIN vecchie v ON v.id = r.id
    WHERE to_jsonb(r) - '{versione,updated_at,schedine_cambiate_il}'::text[]
      IS DISTINCT FROM to_jsonb(v) - '{versione,updated_at,schedine_cambiate_il}'::text[]
    ORDER BY r.id
    ON CONFLICT (transazione, tipo, oggetto)
      DO UPDATE SET dettaglio = coalesce(excluded.dettaglio, eventi_in_arrivo.dettaglio);
  IF FOUND THEN
    PERFORM evento_sveglia();
  END IF;
  RETURN NULL;
END
$$;
--> statement-breakpoint

-- It runs with the owner's rights, so a temporary table of the caller must not stand for one of its tables.
DO $$
BEGIN
  EXECUTE format('ALTER FUNCTION evento_dei_cambi() SET search_path = %I, pg_temp', current_schema());
END $$;
