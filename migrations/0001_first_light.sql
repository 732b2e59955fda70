-- The first schema: clusters, their nodes and instances, what was seen, what was decided, what is being done.
--
-- Times are milliseconds since 1970, 0 for never. References that may be absent are NULL, never 0. Words of the
-- vocabulary (states, kinds, severities) are stored as their text, so that a row reads by itself and an
-- enumeration may grow in its middle. AUTOINCREMENT stands where an id outlives its row in somebody's hand (a
-- credential, a URL, a log line) and so must never be given to another row.

CREATE TABLE cluster (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    uid TEXT NOT NULL UNIQUE,
    name TEXT NOT NULL UNIQUE,
    state TEXT NOT NULL,
    recovery TEXT NOT NULL,
    orchestrator TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    revision INTEGER NOT NULL
) STRICT;

CREATE TABLE instance_group (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    cluster_id INTEGER NOT NULL REFERENCES cluster (id) ON DELETE CASCADE,
    name TEXT NOT NULL,
    instance_type TEXT NOT NULL,
    provider TEXT NOT NULL,
    desired INTEGER NOT NULL CHECK (desired >= 0),
    breaker_opened_at INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    UNIQUE (cluster_id, name)
) STRICT;

-- instance_row has no foreign key: instance already points at node, and a second one would make every instance
-- deleted look through all nodes.
CREATE TABLE node (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    cluster_id INTEGER NOT NULL REFERENCES cluster (id) ON DELETE CASCADE,
    group_id INTEGER NOT NULL REFERENCES instance_group (id) ON DELETE CASCADE,
    name TEXT NOT NULL,
    state TEXT NOT NULL,
    health TEXT NOT NULL,
    reason TEXT NOT NULL,
    instance_row INTEGER,
    state_since INTEGER NOT NULL,
    health_since INTEGER NOT NULL,
    retry_at INTEGER NOT NULL,
    opted_out INTEGER NOT NULL CHECK (opted_out IN (0, 1)),
    created_at INTEGER NOT NULL,
    UNIQUE (cluster_id, name)
) STRICT;
CREATE INDEX node_in_order ON node (cluster_id, id);
CREATE INDEX node_by_state ON node (cluster_id, state, name);
CREATE INDEX node_by_health ON node (cluster_id, health, name);
CREATE INDEX node_of_group ON node (group_id, name);
CREATE INDEX node_counts ON node (group_id, state, health);

CREATE TABLE instance (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    node_id INTEGER NOT NULL REFERENCES node (id) ON DELETE CASCADE,
    instance_id TEXT UNIQUE,
    state TEXT NOT NULL,
    boot_id TEXT NOT NULL,
    boot_at INTEGER NOT NULL,
    launched_at INTEGER NOT NULL,
    terminated_at INTEGER NOT NULL,
    launch_key TEXT UNIQUE
) STRICT;
CREATE INDEX instance_of_node ON instance (node_id, id);

CREATE TABLE credential (
    node_id INTEGER PRIMARY KEY REFERENCES node (id) ON DELETE CASCADE,
    instance_id TEXT NOT NULL,
    hash BLOB NOT NULL CHECK (length(hash) = 32),
    created_at INTEGER NOT NULL
) STRICT;

CREATE TABLE operation (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    uid TEXT NOT NULL UNIQUE,
    cluster_id INTEGER NOT NULL REFERENCES cluster (id) ON DELETE CASCADE,
    node_id INTEGER NOT NULL REFERENCES node (id) ON DELETE CASCADE,
    decision_id INTEGER,
    kind TEXT NOT NULL,
    state TEXT NOT NULL,
    urgency TEXT NOT NULL,
    key TEXT UNIQUE,
    reason TEXT NOT NULL,
    actor TEXT NOT NULL,
    device TEXT NOT NULL,
    code TEXT NOT NULL,
    old_instance TEXT NOT NULL,
    new_instance TEXT NOT NULL,
    old_boot TEXT NOT NULL,
    cancel_asked INTEGER NOT NULL CHECK (cancel_asked IN (0, 1)),
    created_at INTEGER NOT NULL,
    started_at INTEGER NOT NULL,
    finished_at INTEGER NOT NULL,
    error TEXT NOT NULL
) STRICT;
CREATE UNIQUE INDEX operation_one_active ON operation (node_id) WHERE state IN ('pending', 'running');
CREATE INDEX operation_active_repair ON operation (node_id)
    WHERE state IN ('pending', 'running') AND kind IN ('reboot', 'replace');
CREATE INDEX operation_of_node ON operation (node_id, id);
CREATE INDEX operation_of_cluster ON operation (cluster_id, id);
CREATE INDEX operation_by_state ON operation (state, id);

CREATE TABLE operation_step (
    operation_id INTEGER NOT NULL REFERENCES operation (id) ON DELETE CASCADE,
    ordinal INTEGER NOT NULL,
    kind TEXT NOT NULL,
    state TEXT NOT NULL,
    attempts INTEGER NOT NULL,
    started_at INTEGER NOT NULL,
    finished_at INTEGER NOT NULL,
    deadline_at INTEGER NOT NULL,
    retry_at INTEGER NOT NULL,
    detail TEXT NOT NULL,
    PRIMARY KEY (operation_id, ordinal)
) STRICT, WITHOUT ROWID;

-- The hot table. Rows are appended. What a verdict costs is the pages it makes dirty, and an index over all nodes is
-- dirtied at a random place; so an open verdict is in one such index only, which both tells a repeat delivery (by a
-- short digest of the key) and lists the open ones of a node, and which stays small because what is past leaves it.
-- No foreign key: it would want one more index over all rows, to look for children. A verdict is put only for a node
-- that is there, and goes when the node goes. Ids are given by the writer, each once: decisions remember those of rows
-- that went. The newest row says how far they have come; before rows are dropped that is written down below.
CREATE TABLE verdict (
    id INTEGER PRIMARY KEY,
    node_id INTEGER NOT NULL,
    digest BLOB NOT NULL,
    first_at INTEGER NOT NULL,
    last_at INTEGER NOT NULL,
    count INTEGER NOT NULL,
    received_at INTEGER NOT NULL,
    severity TEXT NOT NULL,
    state TEXT NOT NULL,
    source TEXT NOT NULL,
    code TEXT NOT NULL,
    device TEXT NOT NULL,
    instance_id TEXT NOT NULL,
    boot_id TEXT NOT NULL,
    key TEXT NOT NULL,
    table_version TEXT NOT NULL,
    raw_line TEXT NOT NULL
) STRICT;
CREATE TABLE verdict_sequence (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    last_id INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX verdict_open ON verdict (node_id, digest) WHERE state = 'open';
CREATE UNIQUE INDEX verdict_past ON verdict (node_id, digest) WHERE state <> 'open';
CREATE INDEX verdict_past_newest ON verdict (node_id, state, id) WHERE state <> 'open';
CREATE INDEX verdict_critical ON verdict (received_at, node_id) WHERE severity = 'critical' AND state <> 'stale';

CREATE TABLE decision (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    node_id INTEGER NOT NULL REFERENCES node (id) ON DELETE CASCADE,
    at INTEGER NOT NULL,
    action TEXT NOT NULL,
    urgency TEXT NOT NULL,
    rule TEXT NOT NULL,
    code TEXT NOT NULL,
    device TEXT NOT NULL,
    sentence TEXT NOT NULL,
    refused TEXT NOT NULL,
    refused_why TEXT NOT NULL,
    evidence_count INTEGER NOT NULL,
    newest_verdict INTEGER NOT NULL,
    retry_at INTEGER NOT NULL,
    operation_id INTEGER,
    table_version TEXT NOT NULL
) STRICT;
CREATE INDEX decision_of_node ON decision (node_id, id);

CREATE TABLE decision_gate (
    decision_id INTEGER NOT NULL REFERENCES decision (id) ON DELETE CASCADE,
    gate TEXT NOT NULL,
    result TEXT NOT NULL,
    detail TEXT NOT NULL,
    PRIMARY KEY (decision_id, gate)
) STRICT, WITHOUT ROWID;

CREATE TABLE decision_evidence (
    decision_id INTEGER NOT NULL REFERENCES decision (id) ON DELETE CASCADE,
    ordinal INTEGER NOT NULL,
    verdict_id INTEGER NOT NULL,
    PRIMARY KEY (decision_id, ordinal)
) STRICT, WITHOUT ROWID;

-- The timeline outlives what it tells of: names are copied, nothing is referenced. The newest row is never dropped,
-- so an id is never given twice.
CREATE TABLE event (
    id INTEGER PRIMARY KEY,
    at INTEGER NOT NULL,
    level TEXT NOT NULL,
    kind TEXT NOT NULL,
    cluster_id INTEGER,
    node_id INTEGER,
    operation_id INTEGER,
    cluster TEXT,
    instance_group TEXT,
    node TEXT,
    instance_id TEXT,
    operation TEXT,
    message TEXT NOT NULL
) STRICT;
CREATE INDEX event_of_cluster ON event (cluster, id) WHERE cluster IS NOT NULL;
CREATE INDEX event_of_node ON event (node, id) WHERE node IS NOT NULL;
CREATE INDEX event_of_operation ON event (operation_id, id) WHERE operation_id IS NOT NULL;

CREATE TABLE token (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    uid TEXT NOT NULL UNIQUE,
    kind TEXT NOT NULL,
    name TEXT NOT NULL,
    role TEXT NOT NULL,
    cluster_id INTEGER REFERENCES cluster (id) ON DELETE CASCADE,
    node_id INTEGER REFERENCES node (id) ON DELETE CASCADE,
    instance_id TEXT NOT NULL,
    hash BLOB NOT NULL UNIQUE CHECK (length(hash) = 32),
    created_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    used_at INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX token_name ON token (name) WHERE kind = 'api';
CREATE INDEX token_of_cluster ON token (cluster_id) WHERE cluster_id IS NOT NULL;
CREATE INDEX token_of_node ON token (node_id) WHERE node_id IS NOT NULL;
