-- Messages of webhooks that were refused or given up, until they are sent again.
CREATE TABLE webhook_failed (
    webhook TEXT NOT NULL,
    event_id INTEGER NOT NULL,
    at INTEGER NOT NULL,
    why TEXT NOT NULL,
    again INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (webhook, event_id)
) STRICT, WITHOUT ROWID;
