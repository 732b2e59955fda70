-- What became of the newest tries to get machines for a group: no capacity at the provider, and machines that did not come up.
ALTER TABLE instance_group ADD COLUMN short_at INTEGER NOT NULL DEFAULT 0;
ALTER TABLE instance_group ADD COLUMN short_until INTEGER NOT NULL DEFAULT 0;
ALTER TABLE instance_group ADD COLUMN short_times INTEGER NOT NULL DEFAULT 0;
ALTER TABLE instance_group ADD COLUMN unborn_at INTEGER NOT NULL DEFAULT 0;
ALTER TABLE instance_group ADD COLUMN unborn INTEGER NOT NULL DEFAULT 0;
ALTER TABLE instance_group ADD COLUMN protected_at INTEGER NOT NULL DEFAULT 0;
