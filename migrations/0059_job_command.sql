-- What people asked of training jobs, until it is carried out.
CREATE TABLE job_command (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    scheduler TEXT NOT NULL,
    job TEXT NOT NULL,
    command TEXT NOT NULL,
    actor TEXT NOT NULL,
    asked_at INTEGER NOT NULL
) STRICT;
CREATE INDEX job_command_of_scheduler ON job_command (scheduler, id);
