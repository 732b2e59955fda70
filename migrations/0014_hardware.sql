-- What an instance is made of, as its agent tells it, and how the agent's checks stand. identity and serial are "" where nothing
-- tells the piece from another one. present: in the newest report; a piece that is gone stays, so that what was seen on it can
-- still be told to be its.
CREATE TABLE hardware (
    instance_row INTEGER NOT NULL REFERENCES instance (id) ON DELETE CASCADE,
    kind TEXT NOT NULL,
    location TEXT NOT NULL,
    identity TEXT NOT NULL,
    serial TEXT NOT NULL,
    detail TEXT NOT NULL,
    first_at INTEGER NOT NULL,
    last_at INTEGER NOT NULL,
    present INTEGER NOT NULL,
    PRIMARY KEY (instance_row, kind, location, identity)
) STRICT, WITHOUT ROWID;

-- result "": it has not run since the agent started. at: since when it is so.
CREATE TABLE check_state (
    instance_row INTEGER NOT NULL REFERENCES instance (id) ON DELETE CASCADE,
    name TEXT NOT NULL,
    boot_id TEXT NOT NULL,
    result TEXT NOT NULL,
    why TEXT NOT NULL,
    at INTEGER NOT NULL,
    PRIMARY KEY (instance_row, name)
) STRICT, WITHOUT ROWID;
