-- Repairs that wait for a person's word (mode approve), with what became of each. The uid is that of the operation to come.

CREATE TABLE approval (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    uid TEXT NOT NULL UNIQUE,
    node_id INTEGER NOT NULL REFERENCES node (id) ON DELETE CASCADE,
    decision_id INTEGER NOT NULL,
    action TEXT NOT NULL,
    state TEXT NOT NULL,
    sentence TEXT NOT NULL,
    asked_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    answered_at INTEGER NOT NULL,
    answered_by TEXT NOT NULL
) STRICT;
CREATE UNIQUE INDEX approval_one_open ON approval (node_id) WHERE state IN ('asked', 'approved');
CREATE INDEX approval_of_node ON approval (node_id, id);
CREATE INDEX approval_by_state ON approval (state, id);
