-- The cluster whose timeline says what came of a command, and the start of the job that it is for.
ALTER TABLE job_command ADD COLUMN cluster TEXT NOT NULL DEFAULT '';
ALTER TABLE job_command ADD COLUMN restarts INTEGER NOT NULL DEFAULT 0;
