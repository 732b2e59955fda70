-- The policy document: each version whole, with who made it and when. Versions are added and nothing else; to go back is to
-- add an old text again.

CREATE TABLE policy (
    version INTEGER PRIMARY KEY CHECK (version > 0),
    text TEXT NOT NULL,
    sha256 TEXT NOT NULL,
    comment TEXT NOT NULL,
    author TEXT NOT NULL,
    restores INTEGER NOT NULL,
    created_at INTEGER NOT NULL
) STRICT;

CREATE TRIGGER policy_is_not_changed BEFORE UPDATE ON policy
BEGIN
    SELECT RAISE(ABORT, 'versions of the policy are append-only');
END;
CREATE TRIGGER policy_is_not_shortened BEFORE DELETE ON policy
BEGIN
    SELECT RAISE(ABORT, 'versions of the policy are append-only');
END;
CREATE TRIGGER policy_is_not_replaced BEFORE INSERT ON policy
WHEN EXISTS (SELECT 1 FROM policy WHERE version >= NEW.version)
BEGIN
    SELECT RAISE(ABORT, 'versions of the policy are append-only');
END;

-- Which one a decision was made by; 0: there was none.
ALTER TABLE decision ADD COLUMN policy_version INTEGER NOT NULL DEFAULT 0;
