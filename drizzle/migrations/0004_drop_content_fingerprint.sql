-- The fingerprint of a line was written and never read.
ALTER TABLE "invii_schedine" DROP COLUMN "impronta_contenuto";
--> statement-breakpoint
-- Of a row only what the service said of it changes: the record and its fingerprint stay as they were written.
CREATE OR REPLACE FUNCTION schedina_immutabile () RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF (NEW.invio_id, NEW.indice, NEW.capo, NEW.utente, NEW.riga, NEW.permanenza, NEW.impronta_identita)
    IS DISTINCT FROM (OLD.invio_id, OLD.indice, OLD.capo, OLD.utente, OLD.riga, OLD.permanenza, OLD.impronta_identita) THEN
    RAISE EXCEPTION 'i dati di una schedina non cambiano' USING ERRCODE = 'LC002';
  END IF;
  RETURN NEW;
END
$$;
