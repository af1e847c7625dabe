ALTER TABLE "users" ADD COLUMN "password_printed" boolean DEFAULT false NOT NULL;--> statement-breakpoint
-- Every process learns that a person may go on with the new password.
DROP TRIGGER users_changed ON users;
--> statement-breakpoint
CREATE TRIGGER users_changed AFTER UPDATE ON users FOR EACH ROW
  WHEN ((OLD.app_metadata, OLD.banned_until, OLD.deleted_at, OLD.password_printed)
    IS DISTINCT FROM (NEW.app_metadata, NEW.banned_until, NEW.deleted_at, NEW.password_printed))
  EXECUTE FUNCTION identity_changed('user');
