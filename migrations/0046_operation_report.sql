-- What the agent reported of the work of an operation, once each: a repeat was looked for in the operation's newest events.
CREATE TABLE operation_report (
    operation_id INTEGER NOT NULL REFERENCES operation (id) ON DELETE CASCADE,
    script TEXT NOT NULL, -- '': of none, or of a reset
    attempt INTEGER NOT NULL,
    state TEXT NOT NULL,
    at INTEGER NOT NULL,
    PRIMARY KEY (operation_id, script, attempt, state)
) STRICT, WITHOUT ROWID;

-- Of those at work, from: lifecycle script NAME STATE, attempt N; lifecycle scripts STATE.
INSERT OR IGNORE INTO operation_report (operation_id, script, attempt, state, at)
SELECT e.operation_id, CASE WHEN e.message LIKE 'lifecycle script %'
    THEN substr(e.message, 18, instr(e.message, ' ' || lower(e.script_state) || ', attempt ') - 18) ELSE '' END,
    CASE WHEN e.message LIKE 'lifecycle script %' THEN CAST(substr(e.message, instr(e.message, ', attempt ') + 10) AS INTEGER) ELSE 0 END,
    lower(e.script_state), e.at
FROM operation o JOIN event e ON e.operation_id = o.id
WHERE o.state IN ('pending', 'running') AND e.kind = 'lifecycle-script' AND e.script_state <> '';
