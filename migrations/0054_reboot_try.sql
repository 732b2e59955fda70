-- What a reboot tried, method by method: stored before anything is asked for, so that a crash never asks for more.
CREATE TABLE reboot_try (
    operation_id INTEGER NOT NULL REFERENCES operation (id) ON DELETE CASCADE,
    number INTEGER NOT NULL, -- from 1 on
    method TEXT NOT NULL,
    outcome TEXT NOT NULL,
    began_at INTEGER NOT NULL,
    accepted_at INTEGER NOT NULL DEFAULT 0,
    deadline_at INTEGER NOT NULL,
    ended_at INTEGER NOT NULL DEFAULT 0,
    detail TEXT NOT NULL DEFAULT '',
    PRIMARY KEY (operation_id, number)
) STRICT, WITHOUT ROWID;
