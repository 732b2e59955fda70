-- Machines that a site owns, with what Holdfast knows of each; and which instance each was, of which slot, from when to when.
CREATE TABLE machine (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    name TEXT NOT NULL UNIQUE,
    provider TEXT NOT NULL,
    type TEXT NOT NULL,
    state TEXT NOT NULL,
    reason TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    changed_at INTEGER NOT NULL,
    address TEXT NOT NULL,
    bmc TEXT NOT NULL,
    rack TEXT NOT NULL,
    switch TEXT NOT NULL,
    chassis TEXT NOT NULL,
    serial TEXT NOT NULL,
    use_id INTEGER,           -- of machine_use: what it is now, or was last
    agent_hash BLOB,          -- of its agent's own credential
    boot_id TEXT NOT NULL,
    checked INTEGER NOT NULL, -- all checks of its agent have run in this boot
    trouble TEXT NOT NULL     -- the worst that they found; '': nothing
) STRICT;
CREATE INDEX machine_of_provider ON machine (provider, state);
CREATE TABLE machine_use (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    machine_id INTEGER NOT NULL REFERENCES machine (id) ON DELETE CASCADE,
    instance_id TEXT NOT NULL UNIQUE,
    launch_key TEXT NOT NULL UNIQUE,
    node_id INTEGER NOT NULL,
    cluster TEXT NOT NULL,
    node TEXT NOT NULL,
    taken_at INTEGER NOT NULL,
    given_back_at INTEGER NOT NULL, -- 0: it still is
    broken INTEGER NOT NULL,        -- it went to the bench
    reason TEXT NOT NULL
) STRICT;
CREATE INDEX machine_use_of_machine ON machine_use (machine_id, id);
CREATE INDEX machine_use_of_node ON machine_use (node_id, id);
