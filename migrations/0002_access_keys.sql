-- Access keys of the AWS door. To verify a signature the server needs the secret itself, so it is kept sealed under a key
-- that is not in the store: a copy of the database alone lets nobody in.

CREATE TABLE access_key (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    access_key TEXT NOT NULL UNIQUE,
    name TEXT NOT NULL UNIQUE,
    role TEXT NOT NULL,
    sealed BLOB NOT NULL,
    created_at INTEGER NOT NULL,
    used_at INTEGER NOT NULL
) STRICT;
