-- The fingerprint of a line was written and never read. Processes of the version before still write it: the column goes
-- one version later, when none of them can run beside this one any more.
ALTER TABLE "invii_schedine" ALTER COLUMN "impronta_contenuto" DROP NOT NULL;
