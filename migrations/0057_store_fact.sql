-- What the store knows of itself: whether it is in use, and by which key its secrets are sealed (the key's fingerprint, never the key).
CREATE TABLE store_fact (
    name TEXT PRIMARY KEY,
    value TEXT NOT NULL
) STRICT, WITHOUT ROWID;
