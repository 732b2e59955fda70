-- Where a node sits, and the incidents that take all nodes of such a place.
-- An incident goes with its cluster; its nodes are remembered by name when they are gone.

ALTER TABLE node ADD COLUMN ultraserver TEXT NOT NULL DEFAULT '';
ALTER TABLE node ADD COLUMN leaf_switch TEXT NOT NULL DEFAULT '';
ALTER TABLE node ADD COLUMN rack TEXT NOT NULL DEFAULT '';

CREATE TABLE incident (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    cluster_id INTEGER NOT NULL REFERENCES cluster (id) ON DELETE CASCADE,
    level TEXT NOT NULL,
    domain TEXT NOT NULL,
    cause TEXT NOT NULL,
    started_at INTEGER NOT NULL,
    calm_since INTEGER NOT NULL,
    ended_at INTEGER NOT NULL,
    ended_by TEXT NOT NULL
) STRICT;
CREATE INDEX incident_of_cluster ON incident (cluster_id, id);
CREATE INDEX incident_ended ON incident (ended_at) WHERE ended_at > 0;
CREATE INDEX incident_open ON incident (id) WHERE ended_at = 0;

CREATE TABLE incident_node (
    incident_id INTEGER NOT NULL REFERENCES incident (id) ON DELETE CASCADE,
    node_id INTEGER NOT NULL,
    name TEXT NOT NULL,
    cause TEXT NOT NULL,
    since INTEGER NOT NULL,
    back_at INTEGER NOT NULL,
    PRIMARY KEY (incident_id, name, node_id)
) STRICT, WITHOUT ROWID;
