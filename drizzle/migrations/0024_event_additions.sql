-- A second factor was proven for the first time, or a proven one has gone. Those that go with their person need no event.
CREATE FUNCTION evento_del_fattore () RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
BEGIN
  IF TG_OP = 'DELETE' THEN
    IF EXISTS (SELECT FROM users WHERE id = OLD.user_id) THEN
      PERFORM evento_annota('fattore.tolto', 'utente:' || OLD.user_id, NULL, OLD.factor_type);
    END IF;
  ELSE
    PERFORM evento_annota('fattore.aggiunto', 'utente:' || NEW.user_id, NULL, NEW.factor_type);
  END IF;
  RETURN NULL;
END
$$;
--> statement-breakpoint
DO $$
BEGIN
  EXECUTE format('ALTER FUNCTION evento_del_fattore() SET search_path = %I, pg_temp', current_schema());
END
$$;
--> statement-breakpoint
CREATE TRIGGER factors_evento_nuovo AFTER INSERT ON factors FOR EACH ROW
  WHEN (NEW.status = 'verified') EXECUTE FUNCTION evento_del_fattore();
--> statement-breakpoint
CREATE TRIGGER factors_evento_provato AFTER UPDATE ON factors FOR EACH ROW
  WHEN (OLD.status <> 'verified' AND NEW.status = 'verified') EXECUTE FUNCTION evento_del_fattore();
--> statement-breakpoint
CREATE TRIGGER factors_evento_tolto AFTER DELETE ON factors FOR EACH ROW
  WHEN (OLD.status = 'verified') EXECUTE FUNCTION evento_del_fattore();
