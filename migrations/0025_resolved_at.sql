-- When a verdict was dealt with: what is seen of its fault later is new, though its agent still counts it under the same key.
ALTER TABLE verdict ADD COLUMN resolved_at INTEGER NOT NULL DEFAULT 0; -- ms since 1970; 0: open, or not known
