-- Attempts at a step of a job that lives on when nodes break. A requeue of the job counts restart up and begins at attempt 0 again.

CREATE TABLE job_attempt (
    cluster_id INTEGER NOT NULL REFERENCES cluster (id) ON DELETE CASCADE,
    job TEXT NOT NULL,
    restart INTEGER NOT NULL,
    attempt INTEGER NOT NULL,
    state TEXT NOT NULL,
    action TEXT NOT NULL,
    nodes TEXT NOT NULL,
    reason TEXT NOT NULL,
    exit_code INTEGER NOT NULL,
    started_at INTEGER NOT NULL, -- ms since 1970
    ended_at INTEGER NOT NULL,   -- 0: it runs
    seen_at INTEGER NOT NULL,
    stop_at INTEGER NOT NULL,    -- it was to make way for a repair since then; 0: no
    PRIMARY KEY (cluster_id, job, restart, attempt)
) STRICT, WITHOUT ROWID;
CREATE INDEX job_attempt_seen ON job_attempt (cluster_id, seen_at);
