-- How long the jobs of a node may go on before its repair, what asks them to checkpoint, and which ones were asked. A wait of 0
-- is not said: that of the group's drainDeadline.

ALTER TABLE decision ADD COLUMN job_signal TEXT NOT NULL DEFAULT 'none';
ALTER TABLE decision ADD COLUMN job_wait_ms INTEGER NOT NULL DEFAULT 0;
ALTER TABLE operation ADD COLUMN job_signal TEXT NOT NULL DEFAULT 'none';
ALTER TABLE operation ADD COLUMN job_wait_ms INTEGER NOT NULL DEFAULT 0;

CREATE TABLE operation_job (
    operation_id INTEGER NOT NULL REFERENCES operation (id) ON DELETE CASCADE,
    job TEXT NOT NULL,
    user TEXT NOT NULL,
    asked_at INTEGER NOT NULL,
    asked TEXT NOT NULL,
    PRIMARY KEY (operation_id, job)
) STRICT, WITHOUT ROWID;
CREATE INDEX operation_job_of_job ON operation_job (job);
