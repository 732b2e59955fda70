-- Nearly all nodes of a fleet are ready and healthy, and have nothing to say. The indexes hold the others: they are what people ask for, and
-- a node that falls ill or gets well again is written into an index or taken out of it, no longer both.

DROP INDEX node_by_state;
DROP INDEX node_by_health;
DROP INDEX node_with_reason;
DROP INDEX node_counts;
CREATE INDEX node_by_state ON node (cluster_id, state, name) WHERE state <> 'ready';
CREATE INDEX node_by_health ON node (cluster_id, health, name) WHERE health <> 'healthy';
CREATE INDEX node_with_reason ON node (cluster_id, name) WHERE state = 'ready' AND reason <> '';
CREATE INDEX node_counts ON node (group_id, state, health) WHERE state <> 'ready' OR health <> 'healthy';
