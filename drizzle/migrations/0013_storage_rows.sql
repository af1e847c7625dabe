-- The buckets of the product; see schemas/storage.ts.
INSERT INTO buckets (id, public) VALUES
  ('documents', false), ('avatars', false), ('letters', false), ('reports', false), ('public', true);
--> statement-breakpoint
-- The first generation of the key that wraps the keys of files. The salt is no secret, but never the same twice.
INSERT INTO storage_keys (salt) VALUES (decode(replace(gen_random_uuid()::text || gen_random_uuid()::text, '-', ''), 'hex'));
--> statement-breakpoint
INSERT INTO file_store DEFAULT VALUES;
--> statement-breakpoint
CREATE UNIQUE INDEX file_store_one ON file_store ((true));
