-- What a question is about: a yes counts for that alone.

ALTER TABLE approval ADD COLUMN code TEXT NOT NULL DEFAULT '';
ALTER TABLE approval ADD COLUMN device TEXT NOT NULL DEFAULT '';
