-- What else was open on the node when a decision was made: lines of "RULE CODE DEVICE". And since when a person has the node: evidence that
-- was there by then asks for no repair.
ALTER TABLE decision ADD COLUMN beside TEXT NOT NULL DEFAULT '';
ALTER TABLE node ADD COLUMN person_hold_at INTEGER NOT NULL DEFAULT 0;
UPDATE node SET person_hold_at = coalesce((SELECT d.at FROM decision d WHERE d.id = node.person_hold), 0) WHERE person_hold != 0;
