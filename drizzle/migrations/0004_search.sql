-- The search in bookings finds the main guest, the code, the e-mail, the telephone, and every guest with the document
-- number, whatever the case, accents, apostrophes, hyphens and blanks.

-- Folds a text as `compactKey` in the source does: upper case, without accents, apostrophes, separators and blanks.
CREATE FUNCTION piega (testo text) RETURNS text LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE RETURN
  upper(regexp_replace(
    normalize(
      replace(replace(replace(replace(translate(lower(testo), 'øðđłıħŧØÐĐŁĦŦ', 'oddlihtoddlht'),
        'ß', 'ss'), 'æ', 'ae'), 'œ', 'oe'), 'þ', 'th'),
      NFD),
    '[\s\u00A0\u0300-\u036F''’‘‛\u0060´ʹʼʻˈ′＇\u002D\u2010-\u2015−./,;:+()\u005B\u005D«»“”„"*]+', '', 'g'));
--> statement-breakpoint

-- Copies of columns of the same row, which end with it. Drizzle's tables leave them out, so that no answer has them.
ALTER TABLE prenotazioni ADD COLUMN ricerca text GENERATED ALWAYS AS (piega(
  nome_cognome || '|' || coalesce(idf_gen, '') || '|' || coalesce(email, '') || '|' || coalesce(telefono, ''))) STORED;
--> statement-breakpoint
ALTER TABLE ospiti ADD COLUMN ricerca text GENERATED ALWAYS AS (piega(
  cognome || '|' || nome || '|' || coalesce(numero_documento, ''))) STORED;
--> statement-breakpoint
DROP INDEX IF EXISTS prenotazioni_ricerca;
--> statement-breakpoint

-- The indexes of the search: trigrams of both columns. Where the role may not create the extension, the search works
-- without them, slowly, and every start of the server tries again.
CREATE OR REPLACE FUNCTION prenotazioni_indice_ricerca () RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
  estensione text;
BEGIN
  IF to_regclass('prenotazioni_ricerca') IS NOT NULL AND to_regclass('ospiti_ricerca') IS NOT NULL THEN
    RETURN true;
  END IF;
  -- Servers that start together make them once.
  LOCK TABLE prenotazioni, ospiti IN SHARE ROW EXCLUSIVE MODE;
  BEGIN
    CREATE EXTENSION IF NOT EXISTS pg_trgm;
  EXCEPTION WHEN OTHERS THEN
    -- No right, not among the extensions of this server, a function of its name: each is no reason not to start.
    RETURN false;
  END;
  -- It may have been there before, in a schema that is not searched.
  SELECT quote_ident(n.nspname) INTO STRICT estensione
  FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace WHERE e.extname = 'pg_trgm';
  EXECUTE format('CREATE INDEX IF NOT EXISTS prenotazioni_ricerca ON prenotazioni USING gin (ricerca %s.gin_trgm_ops)',
    estensione);
  EXECUTE format('CREATE INDEX IF NOT EXISTS ospiti_ricerca ON ospiti USING gin (ricerca %s.gin_trgm_ops)', estensione);
  RETURN true;
EXCEPTION WHEN insufficient_privilege THEN
  -- The tables are another role's.
  RETURN false;
END $$;
--> statement-breakpoint
SELECT prenotazioni_indice_ricerca();
