-- Where the scheduler was told that the machine of a slot lives (told), or is being told, and where those before it lived.
CREATE TABLE scheduler_address (
    node_id INTEGER NOT NULL REFERENCES node (id) ON DELETE CASCADE,
    address TEXT NOT NULL,
    told INTEGER NOT NULL,
    PRIMARY KEY (node_id, address)
) STRICT, WITHOUT ROWID;
