-- Changes of whole clusters are operations, too: without a node and without steps, with how far they are in nodes. They
-- outlive their cluster, so that who waits for its deletion sees the end; therefore they carry its name.

CREATE TABLE operation_new (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    uid TEXT NOT NULL UNIQUE,
    cluster_id INTEGER REFERENCES cluster (id) ON DELETE SET NULL,
    cluster TEXT,
    node_id INTEGER REFERENCES node (id) ON DELETE CASCADE,
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
    error TEXT NOT NULL,
    nodes_wanted INTEGER NOT NULL DEFAULT 0,
    nodes_in_service INTEGER NOT NULL DEFAULT 0,
    nodes_failed INTEGER NOT NULL DEFAULT 0,
    nodes_left INTEGER NOT NULL DEFAULT 0,
    CHECK (node_id IS NOT NULL OR cluster IS NOT NULL)
) STRICT;
CREATE TABLE operation_step_new (
    operation_id INTEGER NOT NULL REFERENCES operation_new (id) ON DELETE CASCADE,
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

INSERT INTO operation_new (id, uid, cluster_id, node_id, decision_id, kind, state, urgency, key, reason, actor, device, code,
                           old_instance, new_instance, old_boot, cancel_asked, created_at, started_at, finished_at, error)
    SELECT id, uid, cluster_id, node_id, decision_id, kind, state, urgency, key, reason, actor, device, code,
           old_instance, new_instance, old_boot, cancel_asked, created_at, started_at, finished_at, error FROM operation;
INSERT INTO operation_step_new SELECT operation_id, ordinal, kind, state, attempts, started_at, finished_at, deadline_at,
                                      retry_at, detail FROM operation_step;
-- An id that was given once is never given again, also where its row went.
DELETE FROM sqlite_sequence WHERE name = 'operation_new';
INSERT INTO sqlite_sequence (name, seq) SELECT 'operation_new', seq FROM sqlite_sequence WHERE name = 'operation';
DROP TABLE operation_step;
DROP TABLE operation;
ALTER TABLE operation_new RENAME TO operation;
ALTER TABLE operation_step_new RENAME TO operation_step;

CREATE UNIQUE INDEX operation_one_active ON operation (node_id) WHERE state IN ('pending', 'running');
CREATE UNIQUE INDEX operation_one_change ON operation (cluster_id, kind)
    WHERE node_id IS NULL AND state IN ('pending', 'running');
CREATE INDEX operation_active_repair ON operation (node_id)
    WHERE state IN ('pending', 'running') AND kind IN ('reboot', 'replace');
CREATE INDEX operation_of_node ON operation (node_id, id);
CREATE INDEX operation_of_cluster ON operation (cluster_id, id);
CREATE INDEX operation_by_state ON operation (state, id);
CREATE INDEX operation_of_change ON operation (kind, id) WHERE node_id IS NULL;
