-- A provider may name its machine itself. Its name stands beside our id; '': it took ours, or has not answered yet.
ALTER TABLE instance ADD COLUMN provider_ref TEXT NOT NULL DEFAULT '';
