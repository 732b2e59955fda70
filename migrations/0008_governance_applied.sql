-- What became of scheduler configurations and quotas in the scheduler, part by part, and what is touched there for them.

ALTER TABLE governance_version ADD COLUMN details TEXT NOT NULL DEFAULT '{}';
ALTER TABLE governance_version ADD COLUMN applied_at INTEGER NOT NULL DEFAULT 0;

-- No reference to what it is for: a thing is held until it is as it was, which is after that has gone.
CREATE TABLE governance_held (
    thing TEXT NOT NULL,
    name TEXT NOT NULL,
    mark TEXT NOT NULL,
    former INTEGER NOT NULL,
    value INTEGER NOT NULL,
    previous INTEGER NOT NULL,
    PRIMARY KEY (thing, name)
) STRICT, WITHOUT ROWID;
