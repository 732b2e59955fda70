-- Machines of one chassis, and machines that hang on one line of power, go down together.
ALTER TABLE node ADD COLUMN chassis TEXT NOT NULL DEFAULT '';
ALTER TABLE node ADD COLUMN power_domain TEXT NOT NULL DEFAULT '';

-- What a node was in of late is asked for when it comes back.
CREATE INDEX incident_of_node ON incident_node (node_id, since);
