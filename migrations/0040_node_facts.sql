-- What the loop has to know of a node after a restart stands in its row: it was looked for in its newest events and operations, and not
-- found behind many later ones.
ALTER TABLE node ADD COLUMN cordoned INTEGER NOT NULL DEFAULT 0 CHECK (cordoned IN (0, 1));
ALTER TABLE node ADD COLUMN served INTEGER NOT NULL DEFAULT 0 CHECK (served IN (0, 1));
ALTER TABLE node ADD COLUMN launch_tries INTEGER NOT NULL DEFAULT 0;
ALTER TABLE node ADD COLUMN near_miss TEXT NOT NULL DEFAULT '';

UPDATE node SET cordoned = 1 WHERE state IN ('held', 'failed') AND EXISTS (
    SELECT 1 FROM event e WHERE e.node = node.name AND e.node_id = node.id AND e.kind = 'scheduler-mark'
    AND e.at >= node.state_since);

UPDATE node SET served = 1 WHERE state = 'ready' OR EXISTS (
    SELECT 1 FROM operation o WHERE o.node_id = node.id AND o.state = 'succeeded' AND o.kind <> 'delete');

UPDATE node SET launch_tries = min(255, (
    SELECT count(*) FROM operation o WHERE o.node_id = node.id
    AND (o.state = 'failed' OR (o.state = 'cancelled' AND o.kind = 'launch'))))
WHERE served = 0 AND state <> 'deleted';

-- The warnings of before are: the scheduler's reason "REASON" looks like …, and: the scheduler's reason REASON asks for a repair, ….
UPDATE node SET near_miss = coalesce((
    SELECT CASE WHEN message LIKE 'the scheduler''s reason "%" looks like a request%'
                THEN substr(message, 25, instr(message, '" looks like a request') - 25)
                WHEN message LIKE 'the scheduler''s reason % asks for a repair%'
                THEN substr(message, 24, instr(message, ' asks for a repair') - 24) ELSE '' END
    FROM event e WHERE e.node = node.name AND e.node_id = node.id AND e.kind = 'near-miss'
    ORDER BY e.id DESC LIMIT 1), '');
