-- Nobody is in an account whose address nobody has proven: earlier versions let one take over such an address.
DELETE FROM "sessions" USING "users" WHERE "users"."id" = "sessions"."user_id" AND "users"."email_confirmed_at" IS NULL;
--> statement-breakpoint
UPDATE "api_keys" SET "revoked_at" = now() FROM "users"
WHERE "users"."id" = "api_keys"."user_id" AND "users"."email_confirmed_at" IS NULL AND "api_keys"."revoked_at" IS NULL;
--> statement-breakpoint
-- Nobody knows in which browsers these were chosen.
UPDATE "users" SET "password_hash" = NULL WHERE "email_confirmed_at" IS NULL AND "app_metadata" ->> 'role' = 'pending';
--> statement-breakpoint
-- The index of the search in bookings: trigrams of the three columns. A database may not let this role have the
-- extension: then everything works without the index, slowly, and every start of the server asks again.
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
SET LOCAL statement_timeout = 0;
--> statement-breakpoint
SELECT prenotazioni_indice_ricerca();
