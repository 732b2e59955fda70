-- Deep health checks: a run for each operation that has one, and what became of each test. Kept for the newest of a node.

CREATE TABLE deep_run (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    operation_id INTEGER NOT NULL UNIQUE REFERENCES operation (id) ON DELETE CASCADE,
    cluster_id INTEGER NOT NULL REFERENCES cluster (id) ON DELETE CASCADE,
    node_id INTEGER NOT NULL REFERENCES node (id) ON DELETE CASCADE,
    instance_id TEXT NOT NULL,
    profile TEXT NOT NULL,
    checks INTEGER NOT NULL,
    state TEXT NOT NULL,
    detail TEXT NOT NULL,
    total INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    started_at INTEGER NOT NULL,
    finished_at INTEGER NOT NULL
) STRICT;
CREATE INDEX deep_run_of_node ON deep_run (node_id, id);
CREATE INDEX deep_run_of_cluster ON deep_run (cluster_id, id);

-- measures: a line each of name, value and limit, with tabs between.
CREATE TABLE deep_test (
    run_id INTEGER NOT NULL REFERENCES deep_run (id) ON DELETE CASCADE,
    ordinal INTEGER NOT NULL,
    name TEXT NOT NULL,
    kind TEXT NOT NULL,
    state TEXT NOT NULL,
    detail TEXT NOT NULL,
    started_at INTEGER NOT NULL,
    duration_ms INTEGER NOT NULL,
    measures TEXT NOT NULL,
    log TEXT NOT NULL,
    PRIMARY KEY (run_id, ordinal)
) STRICT, WITHOUT ROWID;
