-- The rows of the version before get the booking of their submission. Only this may change them.
ALTER TABLE invii_schedine DISABLE TRIGGER invii_schedine_dati;
--> statement-breakpoint
UPDATE invii_schedine s SET prenotazione_id = i.prenotazione_id FROM invii i
  WHERE i.id = s.invio_id AND i.prenotazione_id IS NOT NULL;
--> statement-breakpoint
ALTER TABLE invii_schedine ENABLE TRIGGER invii_schedine_dati;
--> statement-breakpoint

-- What was acquired in part stays so: the receipt counts the acquired guests, the others are still to be registered.
DELETE FROM invii_transizioni_ammesse WHERE da = 'parziale' AND a = 'ricevuto';
--> statement-breakpoint

-- A row that says no booking belongs to its submission's. A row that passes for another guest wants a person's word.
CREATE FUNCTION schedina_nasce () RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NEW.prenotazione_id IS NULL THEN
    SELECT prenotazione_id INTO NEW.prenotazione_id FROM invii WHERE id = NEW.invio_id;
  END IF;
  IF NEW.confermata AND NOT EXISTS (SELECT FROM invii_conferme WHERE invio_id = NEW.invio_id) THEN
    RAISE EXCEPTION 'una schedina confermata vuole la sua conferma' USING ERRCODE = 'LC001';
  END IF;
  RETURN NEW;
END
$$;
--> statement-breakpoint
CREATE TRIGGER invii_schedine_nasce BEFORE INSERT ON invii_schedine FOR EACH ROW EXECUTE FUNCTION schedina_nasce();
--> statement-breakpoint

-- Of a row only what the service said of it changes. Its record may be erased, for good, once its submission has ended
-- and the erasure is written down: the law wants the transmitted data destroyed.
CREATE OR REPLACE FUNCTION schedina_immutabile () RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF (NEW.invio_id, NEW.indice, NEW.capo, NEW.utente, NEW.prenotazione_id, NEW.permanenza, NEW.impronta_contenuto,
      NEW.impronta_identita, NEW.impronta_persona, NEW.impronta_documento, NEW.confermata)
    IS DISTINCT FROM (OLD.invio_id, OLD.indice, OLD.capo, OLD.utente, OLD.prenotazione_id, OLD.permanenza, OLD.impronta_contenuto,
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

-- How many submissions are in each state. Kept by the same trigger that writes transitions down, under the lock of the
-- chain; with the rights of its owner: who may write submissions need not be able to write the counts.
CREATE FUNCTION invii_conta () RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
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
INSERT INTO invii_conteggi (utente, stato, quanti) SELECT utente, stato, count(*) FROM invii GROUP BY utente, stato;
--> statement-breakpoint

-- The copy of a receipt that is kept stays, but for two cases: it was taken before two in the morning of the day after,
-- when the day may not have been complete; or its totals could not be read, and now can.
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
DROP TRIGGER ricevute_immutabile ON ricevute;
--> statement-breakpoint
CREATE TRIGGER ricevute_cambia BEFORE UPDATE ON ricevute FOR EACH ROW EXECUTE FUNCTION ricevuta_sostituita();
--> statement-breakpoint
CREATE TRIGGER ricevute_resta BEFORE DELETE ON ricevute FOR EACH STATEMENT EXECUTE FUNCTION registro_immutabile();
--> statement-breakpoint

CREATE TRIGGER invii_conferme_immutabile BEFORE UPDATE OR DELETE ON invii_conferme FOR EACH STATEMENT EXECUTE FUNCTION registro_immutabile();
--> statement-breakpoint
CREATE TRIGGER invii_correzioni_immutabile BEFORE UPDATE OR DELETE ON invii_correzioni FOR EACH STATEMENT EXECUTE FUNCTION registro_immutabile();
--> statement-breakpoint
CREATE TRIGGER invii_cancellazioni_immutabile BEFORE UPDATE OR DELETE ON invii_cancellazioni FOR EACH STATEMENT EXECUTE FUNCTION registro_immutabile();
--> statement-breakpoint
CREATE TRIGGER invii_conferme_svuota BEFORE TRUNCATE ON invii_conferme FOR EACH STATEMENT EXECUTE FUNCTION registro_immutabile();
--> statement-breakpoint
CREATE TRIGGER invii_correzioni_svuota BEFORE TRUNCATE ON invii_correzioni FOR EACH STATEMENT EXECUTE FUNCTION registro_immutabile();
--> statement-breakpoint
CREATE TRIGGER invii_cancellazioni_svuota BEFORE TRUNCATE ON invii_cancellazioni FOR EACH STATEMENT EXECUTE FUNCTION registro_immutabile();
