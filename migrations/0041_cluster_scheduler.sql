-- One hpd drives several schedulers. A cluster names its own; what is kept of nodes and of managed objects there belongs to one of them.
-- '' is what was stored before: hpd gives it the name of the first scheduler that is configured when it starts.

ALTER TABLE cluster ADD COLUMN scheduler TEXT NOT NULL DEFAULT '';
ALTER TABLE apart ADD COLUMN scheduler TEXT NOT NULL DEFAULT '';

CREATE TABLE governance_held_new (
    scheduler TEXT NOT NULL,
    thing TEXT NOT NULL,
    name TEXT NOT NULL,
    mark TEXT NOT NULL,
    former INTEGER NOT NULL,
    value INTEGER NOT NULL,
    previous INTEGER NOT NULL,
    PRIMARY KEY (scheduler, thing, name)
) STRICT, WITHOUT ROWID;
INSERT INTO governance_held_new SELECT '', thing, name, mark, former, value, previous FROM governance_held;
DROP TABLE governance_held;
ALTER TABLE governance_held_new RENAME TO governance_held;
