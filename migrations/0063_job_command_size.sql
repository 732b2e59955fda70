-- The size that a training job was asked to have.
ALTER TABLE job_command ADD COLUMN size INTEGER NOT NULL DEFAULT 0;
