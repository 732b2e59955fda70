-- When the reset of a device ended that succeeded, by its agent's clock: what was seen of the device until then is answered by it.
ALTER TABLE operation ADD COLUMN mended_at INTEGER NOT NULL DEFAULT 0;
