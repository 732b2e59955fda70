-- While somebody holds the whole cluster, nothing is done to its nodes by itself; 0: nobody does.
ALTER TABLE cluster ADD COLUMN paused_at INTEGER NOT NULL DEFAULT 0;
ALTER TABLE cluster ADD COLUMN paused_by TEXT NOT NULL DEFAULT '';
ALTER TABLE cluster ADD COLUMN pause_reason TEXT NOT NULL DEFAULT '';
