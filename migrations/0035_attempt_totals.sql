-- Over all starts of a job, as its supervisor counts: how often the step was run, and how often in a row without progress.
ALTER TABLE job_attempt ADD COLUMN runs INTEGER NOT NULL DEFAULT 0;
ALTER TABLE job_attempt ADD COLUMN futile INTEGER NOT NULL DEFAULT 0;
