-- What an event is about, for programs: webhooks open and resolve alerts by it. Older events have none.
ALTER TABLE event ADD COLUMN subject TEXT NOT NULL DEFAULT '';
ALTER TABLE event ADD COLUMN state TEXT NOT NULL DEFAULT '';
ALTER TABLE event ADD COLUMN actor TEXT NOT NULL DEFAULT '';
-- Alerts that a webhook's service was told of, and that are not resolved there.
CREATE TABLE webhook_alert (
    webhook TEXT NOT NULL,
    key TEXT NOT NULL,
    opened_at INTEGER NOT NULL,
    PRIMARY KEY (webhook, key)
) STRICT, WITHOUT ROWID;
