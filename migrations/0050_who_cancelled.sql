-- Facts that were concluded from other texts: who cancelled an operation (a text that was empty), and whether a machine registered
-- itself (the beginning of its key). An operation that the loop itself cancels has its error and nobody here.
ALTER TABLE operation ADD COLUMN cancelled_by TEXT NOT NULL DEFAULT '';
UPDATE operation SET cancelled_by = 'a person' WHERE cancel_asked = 1 AND error = '';
ALTER TABLE instance ADD COLUMN self_registered INTEGER NOT NULL DEFAULT 0;
UPDATE instance SET self_registered = 1 WHERE launch_key LIKE 'enroll/%';
