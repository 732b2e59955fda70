-- Who asked for which change, from where, and what became of it. Rows are added and nothing else: not by hpd, which has no
-- statement that would, and not by a slip at the sqlite3 prompt, which the triggers refuse. Names stand as text, so that a
-- row outlives what it is about.

CREATE TABLE audit (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    at INTEGER NOT NULL,
    operation TEXT NOT NULL,
    actor TEXT NOT NULL,
    credential TEXT NOT NULL,
    peer TEXT NOT NULL,
    cluster TEXT NOT NULL,
    resource TEXT NOT NULL,
    request_id TEXT NOT NULL,
    outcome TEXT NOT NULL,
    code TEXT NOT NULL,
    count INTEGER NOT NULL
) STRICT;
CREATE INDEX audit_by_cluster ON audit (cluster, id);
CREATE INDEX audit_by_actor ON audit (actor, id);

CREATE TRIGGER audit_is_not_changed BEFORE UPDATE ON audit
BEGIN
    SELECT RAISE(ABORT, 'the audit log is append-only');
END;
CREATE TRIGGER audit_is_not_shortened BEFORE DELETE ON audit
BEGIN
    SELECT RAISE(ABORT, 'the audit log is append-only');
END;
-- INSERT OR REPLACE would delete without asking the trigger above.
CREATE TRIGGER audit_is_not_replaced BEFORE INSERT ON audit
WHEN EXISTS (SELECT 1 FROM audit WHERE id = NEW.id)
BEGIN
    SELECT RAISE(ABORT, 'the audit log is append-only');
END;
