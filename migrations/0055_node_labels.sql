-- What of the labels and taints of its group a node carries in its scheduler, as it was seen last. No row: none of them.
CREATE TABLE node_labels (
    node_id INTEGER PRIMARY KEY REFERENCES node (id) ON DELETE CASCADE,
    current TEXT NOT NULL
) STRICT;
