-- What a node was before it moved: until now read off the beginning of the message, and so was the state of events before it had a column.
ALTER TABLE event ADD COLUMN was TEXT NOT NULL DEFAULT '';
UPDATE event SET was = substr(message, 1, instr(message, ' -> ') - 1)
WHERE kind IN ('node-state', 'node-health') AND instr(message, ' -> ') > 1;
UPDATE event SET state = substr(message, length(was) + 5, instr(substr(message, length(was) + 5) || ':', ':') - 1)
WHERE was <> '' AND state = '';
