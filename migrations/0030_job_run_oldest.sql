-- The oldest starts of a cluster's jobs make room for newer ones.

CREATE INDEX job_run_started ON job_run (cluster_id, started_at);
