-- What others say of a node: who, of what kind, about what, and until when it counts. What was said stands in its verdict.
CREATE TABLE node_report (
    verdict_id INTEGER PRIMARY KEY REFERENCES verdict (id) ON DELETE CASCADE,
    kind TEXT NOT NULL,
    reporter TEXT NOT NULL,
    subject TEXT NOT NULL,
    expires_at INTEGER NOT NULL
) STRICT;
