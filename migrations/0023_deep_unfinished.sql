-- The few runs of a cluster that go on are found without a walk through all that it ever had.
CREATE INDEX deep_run_unfinished ON deep_run (cluster_id, id) WHERE finished_at = 0;
