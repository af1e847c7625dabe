ALTER TABLE "ospiti" ADD COLUMN "arrivo" date;--> statement-breakpoint
ALTER TABLE "ospiti" ADD COLUMN "partenza" date;--> statement-breakpoint
ALTER TABLE "prenotazioni" ADD COLUMN "stato" text DEFAULT 'confermata' NOT NULL;--> statement-breakpoint
ALTER TABLE "ospiti" ADD CONSTRAINT "ospiti_partenza_dopo_arrivo" CHECK ("ospiti"."partenza" > "ospiti"."arrivo");--> statement-breakpoint
ALTER TABLE "ospiti" ADD CONSTRAINT "ospiti_giorni_del_calendario" CHECK (coalesce("ospiti"."arrivo", '0001-01-01') between '0001-01-01' and '9999-12-31'
    and coalesce("ospiti"."partenza", '0001-01-01') between '0001-01-01' and '9999-12-31');--> statement-breakpoint
ALTER TABLE "prenotazioni" ADD CONSTRAINT "prenotazioni_stato" CHECK ("prenotazioni"."stato" in ('confermata', 'annullata', 'non_presentato'));--> statement-breakpoint
-- The rights of the SQL console, with the columns of this migration.
CREATE OR REPLACE FUNCTION console_sql_diritti(ruolo name) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  EXECUTE format('GRANT SELECT ON
    prenotazioni_per_paese, invii, invii_schedine, invii_tentativi, invii_esiti, invii_transizioni_ammesse,
    invii_transizioni, invii_decisioni, invii_sospensioni, invii_numerazione, account_polizia, ricevute,
    ricevute_letture, invii_conferme, invii_correzioni, invii_cancellazioni, invii_conteggi, allarmi,
    codici_tabelle, registro_chiave, registro_server, sandbox_schedine, sandbox_appartamenti, audit_log,
    feature_flags, maintenance, jobs, buckets, objects, discarded_files, file_store, generated_pdfs,
    pdf_templates, pdf_template_versions, scansioni, lettere_benvenuto, struttura, eventi, eventi_in_arrivo,
    webhook_consegne, webhook_tentativi
    TO %I', ruolo);
  EXECUTE format('GRANT SELECT, INSERT (
    nome_cognome, lingua, email, telefono, paese_id, check_in, check_out, numero_ospiti, idf_gen, stato, created_at,
    updated_at, schedine_cambiate_il, versione
    ), UPDATE (
    nome_cognome, lingua, email, telefono, paese_id, check_in, check_out, numero_ospiti, idf_gen, stato, created_at,
    updated_at, schedine_cambiate_il, versione
    ) ON prenotazioni TO %I', ruolo);
  EXECUTE format('GRANT SELECT, DELETE, INSERT (prenotazione_id,
    indice, nome, cognome, sesso, data_nascita, luogo_nascita, cittadinanza, tipo_documento, numero_documento,
    luogo_rilascio, tipo_alloggiato, comune_nascita, provincia_nascita, stato_nascita, arrivo, partenza
    ), UPDATE (
    indice, nome, cognome, sesso, data_nascita, luogo_nascita, cittadinanza, tipo_documento, numero_documento,
    luogo_rilascio, tipo_alloggiato, comune_nascita, provincia_nascita, stato_nascita, arrivo, partenza
    ) ON ospiti TO %I', ruolo);
END
$$;
