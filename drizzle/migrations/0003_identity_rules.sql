-- Every process keeps in memory who may come in; whoever changes that, tells them all, whatever wrote the change.
CREATE FUNCTION identity_changed () RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_notify('locanda_identity', TG_ARGV[0] || ':' || OLD.id);
  RETURN NULL;
END
$$;
--> statement-breakpoint
CREATE TRIGGER users_changed AFTER UPDATE ON users FOR EACH ROW
  WHEN ((OLD.app_metadata, OLD.banned_until, OLD.deleted_at) IS DISTINCT FROM (NEW.app_metadata, NEW.banned_until, NEW.deleted_at))
  EXECUTE FUNCTION identity_changed('user');
--> statement-breakpoint
CREATE TRIGGER users_gone AFTER DELETE ON users FOR EACH ROW EXECUTE FUNCTION identity_changed('user');
--> statement-breakpoint
CREATE TRIGGER sessions_changed AFTER UPDATE ON sessions FOR EACH ROW
  WHEN (OLD.not_after IS DISTINCT FROM NEW.not_after) EXECUTE FUNCTION identity_changed('session');
--> statement-breakpoint
CREATE TRIGGER sessions_gone AFTER DELETE ON sessions FOR EACH ROW EXECUTE FUNCTION identity_changed('session');
--> statement-breakpoint
CREATE TRIGGER api_keys_changed AFTER UPDATE ON api_keys FOR EACH ROW
  WHEN ((OLD.scopes, OLD.expires_at, OLD.revoked_at) IS DISTINCT FROM (NEW.scopes, NEW.expires_at, NEW.revoked_at))
  EXECUTE FUNCTION identity_changed('key');
--> statement-breakpoint
CREATE TRIGGER api_keys_gone AFTER DELETE ON api_keys FOR EACH ROW EXECUTE FUNCTION identity_changed('key');
--> statement-breakpoint
CREATE TRIGGER seen_sessions_changed AFTER UPDATE ON seen_sessions FOR EACH ROW
  WHEN (OLD.revoked_at IS DISTINCT FROM NEW.revoked_at) EXECUTE FUNCTION identity_changed('session');
--> statement-breakpoint
CREATE TRIGGER seen_sessions_gone AFTER DELETE ON seen_sessions FOR EACH ROW EXECUTE FUNCTION identity_changed('session');
--> statement-breakpoint

-- The audit log is only extended.
CREATE TRIGGER audit_log_immutabile BEFORE UPDATE OR DELETE ON audit_log FOR EACH STATEMENT EXECUTE FUNCTION registro_immutabile();
--> statement-breakpoint
CREATE TRIGGER audit_log_svuota BEFORE TRUNCATE ON audit_log FOR EACH STATEMENT EXECUTE FUNCTION registro_immutabile();
