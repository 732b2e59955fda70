-- Why a start of a job ended, and when we requeued or ended it (0: we did not); so those of any job can be told.

ALTER TABLE job_run ADD COLUMN evicted_at INTEGER NOT NULL DEFAULT 0; -- ms since 1970
ALTER TABLE job_run ADD COLUMN why TEXT NOT NULL DEFAULT '';
