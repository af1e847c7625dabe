-- Replaces the earlier nights of a booking or a block through an index. The comparison of both ids as one row read the
-- whole table at each write.
CREATE OR REPLACE FUNCTION occupa (nuova occupazione) RETURNS void LANGUAGE plpgsql SECURITY DEFINER AS $$
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
  DELETE FROM occupazione o WHERE o.prenotazione_id = nuova.prenotazione_id OR o.blocco_id = nuova.blocco_id;
  INSERT INTO occupazione SELECT nuova.*;
END
$$;
--> statement-breakpoint

-- They run with the owner's rights, so a temporary table of the caller must not stand for one of theirs.
DO $$
DECLARE
  funzione text;
BEGIN
  FOREACH funzione IN ARRAY ARRAY['occupa(occupazione)', 'prenotazione_occupa()', 'blocco_occupa()'] LOOP
    EXECUTE format('ALTER FUNCTION %s SET search_path = %I, pg_temp', funzione, current_schema());
  END LOOP;
END $$;
