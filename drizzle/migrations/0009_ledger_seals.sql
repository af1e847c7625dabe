-- Keyed hashes of the ledger's rows and of its chain.
SELECT 1;
