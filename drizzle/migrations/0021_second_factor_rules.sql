-- A session that reaches another level, or has its second factor proven again.
DROP TRIGGER sessions_changed ON sessions;
--> statement-breakpoint
CREATE TRIGGER sessions_changed AFTER UPDATE ON sessions FOR EACH ROW
  WHEN ((OLD.not_after, OLD.factor_id, OLD.amr) IS DISTINCT FROM (NEW.not_after, NEW.factor_id, NEW.amr))
  EXECUTE FUNCTION identity_changed('session');
--> statement-breakpoint

-- Whether a person must prove a second factor hangs on their verified ones: all their sessions and keys are read again.
CREATE FUNCTION factor_changed () RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_notify('locanda_identity', 'user:' || OLD.user_id);
  RETURN NULL;
END
$$;
--> statement-breakpoint
CREATE TRIGGER factors_changed AFTER UPDATE ON factors FOR EACH ROW
  WHEN (OLD.status IS DISTINCT FROM NEW.status) EXECUTE FUNCTION factor_changed();
--> statement-breakpoint
CREATE TRIGGER factors_gone AFTER DELETE ON factors FOR EACH ROW EXECUTE FUNCTION factor_changed();
