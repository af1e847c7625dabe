ALTER TABLE "prenotazioni" ADD COLUMN "schedine_cambiate_il" timestamp(3) with time zone DEFAULT now() NOT NULL;--> statement-breakpoint
-- When they were last changed at all is the latest that it can have been.
UPDATE prenotazioni SET schedine_cambiate_il = updated_at;
