-- An attempt is one of a step, as several steps of a job may live on at once, and says more: since when it waits for nodes, when its
-- program made progress last, when its node was seen to be broken. And what the scheduler had of each start of a job that tells of
-- attempts, which the scheduler itself soon forgets.

CREATE TABLE attempt_of_step (
    cluster_id INTEGER NOT NULL REFERENCES cluster (id) ON DELETE CASCADE,
    job TEXT NOT NULL,
    restart INTEGER NOT NULL,
    step INTEGER NOT NULL,        -- -1: it never became one
    attempt INTEGER NOT NULL,
    state TEXT NOT NULL,
    action TEXT NOT NULL,
    nodes TEXT NOT NULL,
    reason TEXT NOT NULL,
    exit_code INTEGER NOT NULL,
    started_at INTEGER NOT NULL,  -- ms since 1970
    ended_at INTEGER NOT NULL,    -- 0: it runs
    seen_at INTEGER NOT NULL,
    stop_at INTEGER NOT NULL,     -- it was to make way for a repair since then; 0: no
    node_count INTEGER NOT NULL,
    progress_at INTEGER NOT NULL, -- 0: not known
    fault_at INTEGER NOT NULL,    -- 0: none
    waits_since INTEGER NOT NULL, -- 0: it did not
    PRIMARY KEY (cluster_id, job, restart, step, attempt)
) STRICT, WITHOUT ROWID;
INSERT INTO attempt_of_step
SELECT cluster_id, job, restart, 0, attempt, state, action, nodes, reason, exit_code, started_at, ended_at, seen_at, stop_at, 1, 0, 0, 0
FROM job_attempt;
DROP TABLE job_attempt;
ALTER TABLE attempt_of_step RENAME TO job_attempt;
CREATE INDEX job_attempt_seen ON job_attempt (cluster_id, seen_at);
CREATE INDEX job_attempt_old ON job_attempt (seen_at);

CREATE TABLE job_run (
    cluster_id INTEGER NOT NULL REFERENCES cluster (id) ON DELETE CASCADE,
    job TEXT NOT NULL,
    restart INTEGER NOT NULL,
    name TEXT NOT NULL,
    user TEXT NOT NULL,
    account TEXT NOT NULL,
    partition TEXT NOT NULL,
    state TEXT NOT NULL,          -- the scheduler's word
    nodes TEXT NOT NULL,
    node_count INTEGER NOT NULL,
    cpus INTEGER NOT NULL,
    gpus INTEGER NOT NULL,
    submitted_at INTEGER NOT NULL,
    started_at INTEGER NOT NULL,
    ended_at INTEGER NOT NULL,    -- 0: it goes on
    PRIMARY KEY (cluster_id, job, restart)
) STRICT, WITHOUT ROWID;
CREATE INDEX job_run_ended ON job_run (ended_at);
