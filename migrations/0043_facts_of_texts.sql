-- What the code read back from its own texts stands in columns.

-- Why people should look at a node in service.
ALTER TABLE node ADD COLUMN attention TEXT NOT NULL DEFAULT '';
UPDATE node SET attention = CASE
    WHEN reason LIKE 'held in Slurm%' THEN 'held'
    WHEN reason LIKE 'Slurm took it out by itself%' THEN 'downed'
    WHEN reason LIKE 'Slurm keeps it out by itself%' THEN 'kept-out'
    WHEN reason LIKE 'agent silent since %' THEN 'unheard'
    ELSE 'decided' END
WHERE state = 'ready' AND reason <> '';

-- Which incident took the nodes of this one over.
ALTER TABLE incident ADD COLUMN part_of INTEGER;
UPDATE incident SET part_of = CAST(substr(ended_by, 24) AS INTEGER) WHERE ended_by LIKE 'it is part of incident %';

-- What the limits saw of the group; -1: they were not asked. Gates are lines of "GATE RESULT BYTES DETAIL".
ALTER TABLE decision ADD COLUMN group_desired INTEGER NOT NULL DEFAULT -1;
ALTER TABLE decision ADD COLUMN group_failing INTEGER NOT NULL DEFAULT -1;
ALTER TABLE decision ADD COLUMN group_healthy INTEGER NOT NULL DEFAULT -1;
ALTER TABLE decision ADD COLUMN group_in_repair INTEGER NOT NULL DEFAULT -1;
ALTER TABLE decision ADD COLUMN group_in_repair_alike INTEGER NOT NULL DEFAULT -1;

CREATE TEMP TABLE gate_line (decision_id INTEGER NOT NULL, gate TEXT NOT NULL, detail TEXT NOT NULL, PRIMARY KEY (decision_id, gate)) WITHOUT ROWID;
WITH gates (gate) AS (VALUES ('min-healthy'), ('class-budget'), ('group-budget'), ('group-breaker')),
found (decision_id, gate, line) AS (
    SELECT id, gate, substr(char(10) || gates, instr(char(10) || gates, char(10) || gate || ' ') + length(gate) + 2)
    FROM decision, gates WHERE instr(char(10) || gates, char(10) || gate || ' ') > 0),
words (decision_id, gate, rest) AS (
    SELECT decision_id, gate, substr(line, instr(line, ' ') + 1) FROM found WHERE line LIKE 'passed %' OR line LIKE 'failed %')
INSERT INTO gate_line (decision_id, gate, detail)
SELECT decision_id, gate, substr(rest, instr(rest, ' ') + 1) FROM words;

UPDATE decision SET
    group_failing = CAST(substr(l.detail, instr(l.detail, ': ') + 2) AS INTEGER),
    group_desired = CAST(substr(l.detail, instr(l.detail, ' of ') + 4) AS INTEGER)
FROM gate_line l WHERE l.decision_id = decision.id AND l.gate = 'group-breaker' AND l.detail LIKE '%: % of % nodes failed%';
UPDATE decision SET group_healthy = CAST(l.detail AS INTEGER)
FROM gate_line l WHERE l.decision_id = decision.id AND l.gate = 'min-healthy';
UPDATE decision SET group_in_repair = CAST(l.detail AS INTEGER)
FROM gate_line l WHERE l.decision_id = decision.id AND l.gate = 'group-budget';
UPDATE decision SET group_in_repair_alike = CAST(l.detail AS INTEGER)
FROM gate_line l WHERE l.decision_id = decision.id AND l.gate = 'class-budget';
DROP TABLE gate_line;
