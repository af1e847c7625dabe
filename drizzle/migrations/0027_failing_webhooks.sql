ALTER TABLE "webhooks" ADD COLUMN "errori_dal" timestamp (3) with time zone;--> statement-breakpoint
ALTER TABLE "webhooks" ADD COLUMN "ultimo_errore" timestamp (3) with time zone;