-- ============ SQL console ============

-- Everything that the role of the SQL console may do. Other tables are closed, also those of later migrations, which
-- replace this function when the console may read them. Sealed columns may be read: their keys are not in the database.
-- Bookings are not deleted here, because the API refuses to delete one whose submission is under way, and an id of
-- one's own would collide with the next booking.
CREATE FUNCTION console_sql_diritti(ruolo name) RETURNS void LANGUAGE plpgsql AS $$
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
    nome_cognome, lingua, email, telefono, paese_id, check_in, check_out, numero_ospiti, idf_gen, created_at,
    updated_at, schedine_cambiate_il, versione
    ), UPDATE (
    nome_cognome, lingua, email, telefono, paese_id, check_in, check_out, numero_ospiti, idf_gen, created_at,
    updated_at, schedine_cambiate_il, versione
    ) ON prenotazioni TO %I', ruolo);
  EXECUTE format('GRANT SELECT, DELETE, INSERT (prenotazione_id,
    indice, nome, cognome, sesso, data_nascita, luogo_nascita, cittadinanza, tipo_documento, numero_documento,
    luogo_rilascio, tipo_alloggiato, comune_nascita, provincia_nascita, stato_nascita
    ), UPDATE (
    indice, nome, cognome, sesso, data_nascita, luogo_nascita, cittadinanza, tipo_documento, numero_documento,
    luogo_rilascio, tipo_alloggiato, comune_nascita, provincia_nascita, stato_nascita
    ) ON ospiti TO %I', ruolo);
END
$$;
