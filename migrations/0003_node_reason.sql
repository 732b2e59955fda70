-- Nodes in service about which people have to know something are few among very many: they are found without a walk.

CREATE INDEX node_with_reason ON node (cluster_id, state, name) WHERE reason <> '';
