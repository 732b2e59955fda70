-- The breaker counts nodes that failed. What counts as a node's failure is more than a critical verdict: also a warning
-- whose code asks for a repair, and what its rate made one. Whoever judges says so here, once, and a restart reads it
-- back. What came before this column is known by its severity alone; older than a day it opens no breaker any more.

ALTER TABLE verdict ADD COLUMN node_fault INTEGER NOT NULL DEFAULT 0;
UPDATE verdict SET node_fault = 1
    WHERE severity = 'critical' AND state <> 'stale' AND received_at >
        (SELECT max(received_at) FROM verdict WHERE severity = 'critical' AND state <> 'stale') - 86400000;
DROP INDEX verdict_critical;
CREATE INDEX verdict_node_fault ON verdict (received_at, node_id) WHERE node_fault = 1 AND state <> 'stale';
