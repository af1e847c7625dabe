-- The searched text gets the beginnings of words, for words of one or two letters. Letters outside ASCII become groups
-- of ASCII characters, because in most databases the extension pg_trgm indexes no others.

ALTER TABLE prenotazioni DROP COLUMN ricerca;
--> statement-breakpoint
ALTER TABLE ospiti DROP COLUMN ricerca;
--> statement-breakpoint
DROP FUNCTION piega;
--> statement-breakpoint

-- Folds fields that `|` separates, as `searched` in the source does. It returns each field without blanks, then the
-- words of all, each after a blank. A byte outside ASCII is `x` and three digits, and the other letters are upper case.
CREATE FUNCTION testo_ricerca (campi text) RETURNS text LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
  SELECT ' ' || replace(replace(parole, ' ', ''), '|', ' ') || ' ' || replace(parole, '|', ' ')
  FROM (SELECT replace(encode(convert_to(
    upper(regexp_replace(regexp_replace(
      normalize(
        replace(replace(replace(replace(translate(lower(campi), 'øðđłıħŧØÐĐŁĦŦ', 'oddlihtoddlht'),
          'ß', 'ss'), 'æ', 'ae'), 'œ', 'oe'), 'þ', 'th'),
        NFD),
      '[\u0300-\u036F]+', '', 'g'),
      '[\s\u00A0\u0021-\u002F\u003A-\u0040\u005B-\u0060\u007B\u007D\u007E’‘‛´ʹʼʻˈ′＇\u2010-\u2015−«»“”„]+', ' ', 'g')),
    'UTF8'), 'escape'), '\', 'x')) AS piegato (parole)
$$;
--> statement-breakpoint
ALTER TABLE prenotazioni ADD COLUMN ricerca text GENERATED ALWAYS AS (testo_ricerca(
  nome_cognome || '|' || coalesce(idf_gen, '') || '|' || coalesce(email, '') || '|' || coalesce(telefono, ''))) STORED;
--> statement-breakpoint
ALTER TABLE ospiti ADD COLUMN ricerca text GENERATED ALWAYS AS (testo_ricerca(
  cognome || '|' || nome || '|' || coalesce(numero_documento, ''))) STORED;
--> statement-breakpoint
SELECT prenotazioni_indice_ricerca();
