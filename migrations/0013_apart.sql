-- Nodes that are set apart in their scheduler while they are tested. No reference to the node: a row stays until all there is
-- as it was, which may be after the node has gone.
CREATE TABLE apart (
    node_id INTEGER PRIMARY KEY,
    name TEXT NOT NULL,
    wanted INTEGER NOT NULL,
    state TEXT NOT NULL,
    had INTEGER NOT NULL,
    why TEXT NOT NULL
) STRICT;
