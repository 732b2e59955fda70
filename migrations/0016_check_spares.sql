-- Which deep health checks begin only while another node of the group is idle.
ALTER TABLE deep_run ADD COLUMN needs_spare INTEGER NOT NULL DEFAULT 0;
