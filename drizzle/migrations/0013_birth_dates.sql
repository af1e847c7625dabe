-- Documents may lack the day, or the day and the month, of a birth.
ALTER TABLE "ospiti" DROP CONSTRAINT "ospiti_data_del_calendario";--> statement-breakpoint
ALTER TABLE "ospiti" ALTER COLUMN "data_nascita" SET DATA TYPE text USING to_char("data_nascita", 'YYYY-MM-DD');--> statement-breakpoint
ALTER TABLE "ospiti" ADD CONSTRAINT "ospiti_data_del_calendario" CHECK ("ospiti"."data_nascita" ~ '^[0-9]{4}-(00-00|(?!00)[0-9]{2}-[0-9]{2})$'
    and replace("ospiti"."data_nascita", '-00', '-01')::date between '0001-01-01' and '9999-12-31');