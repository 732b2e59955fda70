-- A decision is one row: its gates and the verdicts that it stands on are columns of it (db/decision.c says how they are written).
ALTER TABLE decision ADD COLUMN gates TEXT NOT NULL DEFAULT '';
ALTER TABLE decision ADD COLUMN evidence TEXT NOT NULL DEFAULT '';

UPDATE decision SET
    gates = coalesce((SELECT group_concat(gate || ' ' || result || ' ' || length(CAST(detail AS BLOB)) || ' ' || detail || char(10), '')
                      FROM decision_gate WHERE decision_id = decision.id), ''),
    evidence = coalesce((SELECT group_concat(verdict_id, ' ')
                         FROM (SELECT verdict_id FROM decision_evidence WHERE decision_id = decision.id ORDER BY ordinal)), '');

DROP TABLE decision_gate;
DROP TABLE decision_evidence;
