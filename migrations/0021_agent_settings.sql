-- What the agents of an instance group do otherwise: one text a group, with whose it is; it says all that is said.
CREATE TABLE agent_settings (
    group_row INTEGER PRIMARY KEY REFERENCES instance_group (id) ON DELETE CASCADE,
    revision INTEGER NOT NULL CHECK (revision > 0),
    document TEXT NOT NULL,
    comment TEXT NOT NULL,
    author TEXT NOT NULL,
    updated_at INTEGER NOT NULL
) STRICT;

-- What an agent tells that it goes by. settings: lines of "name value source".
CREATE TABLE agent_settings_told (
    instance_row INTEGER PRIMARY KEY REFERENCES instance (id) ON DELETE CASCADE,
    revision INTEGER NOT NULL,
    refused TEXT NOT NULL,
    file_refused TEXT NOT NULL,
    settings TEXT NOT NULL,
    at INTEGER NOT NULL
) STRICT;
