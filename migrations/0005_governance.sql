-- Task governance and tags: what clusters carry, and go with.

CREATE TABLE governance (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    kind TEXT NOT NULL,
    uid TEXT NOT NULL UNIQUE,
    cluster_id INTEGER NOT NULL REFERENCES cluster (id) ON DELETE CASCADE,
    name TEXT NOT NULL,
    team TEXT NOT NULL,
    version INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    created_by TEXT NOT NULL,
    UNIQUE (kind, name)
) STRICT;
CREATE INDEX governance_of_cluster ON governance (cluster_id, kind, name);
CREATE UNIQUE INDEX governance_one_scheduler_config ON governance (cluster_id) WHERE kind = 'scheduler-config';
CREATE UNIQUE INDEX governance_one_quota_a_team ON governance (cluster_id, team) WHERE kind = 'compute-quota';

-- The documents are JSON in HyperPod's spelling: nothing here looks into them.
CREATE TABLE governance_version (
    governance_id INTEGER NOT NULL REFERENCES governance (id) ON DELETE CASCADE,
    version INTEGER NOT NULL,
    status TEXT NOT NULL,
    reason TEXT NOT NULL,
    description TEXT NOT NULL,
    config TEXT NOT NULL,
    team TEXT NOT NULL,
    weight INTEGER NOT NULL,
    active INTEGER NOT NULL CHECK (active IN (0, 1)),
    made_at INTEGER NOT NULL,
    made_by TEXT NOT NULL,
    PRIMARY KEY (governance_id, version)
) STRICT, WITHOUT ROWID;

CREATE TABLE cluster_tag (
    cluster_id INTEGER NOT NULL REFERENCES cluster (id) ON DELETE CASCADE,
    key TEXT NOT NULL,
    value TEXT NOT NULL,
    PRIMARY KEY (cluster_id, key)
) STRICT, WITHOUT ROWID;

CREATE TABLE governance_tag (
    governance_id INTEGER NOT NULL REFERENCES governance (id) ON DELETE CASCADE,
    key TEXT NOT NULL,
    value TEXT NOT NULL,
    PRIMARY KEY (governance_id, key)
) STRICT, WITHOUT ROWID;
