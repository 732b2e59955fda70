-- A node that waits for a person goes on to wait when its machine boots: the decision that left it to a person, and the instance that
-- this was about. Nodes that are held now by such a decision keep it.
ALTER TABLE node ADD COLUMN person_hold INTEGER NOT NULL DEFAULT 0;
ALTER TABLE node ADD COLUMN person_hold_row INTEGER NOT NULL DEFAULT 0;
UPDATE node SET person_hold_row = coalesce(instance_row, 0), person_hold = coalesce((
    SELECT CASE WHEN d.action = 'support' THEN d.id END FROM decision d WHERE d.node_id = node.id ORDER BY d.id DESC LIMIT 1), 0)
WHERE state = 'held';
