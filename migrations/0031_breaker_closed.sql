-- When a person closed the group's breaker: what failed before that counts no more.
ALTER TABLE instance_group ADD COLUMN breaker_closed_at INTEGER NOT NULL DEFAULT 0;
