-- What a provider announces of a machine, with its date. What it says stands in its verdict.
CREATE TABLE provider_notice (
    verdict_id INTEGER PRIMARY KEY REFERENCES verdict (id) ON DELETE CASCADE,
    provider TEXT NOT NULL,
    notice TEXT NOT NULL,
    instance_id TEXT NOT NULL,
    boot_id TEXT NOT NULL,
    due_at INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX provider_notice_of ON provider_notice (provider, notice, instance_id, boot_id);
