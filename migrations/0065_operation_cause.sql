-- Why an operation was asked for, and what of deep checks it runs again: until now read off its actor and its code.
ALTER TABLE operation ADD COLUMN cause TEXT NOT NULL DEFAULT 'person';
ALTER TABLE operation ADD COLUMN retests INTEGER NOT NULL DEFAULT 0;
UPDATE operation SET cause = CASE
    WHEN kind = 'release' AND code = 'node.reboot.unexpected' THEN 'absence'
    WHEN actor = 'policy' AND kind IN ('reset', 'reboot', 'replace') THEN 'fault'
    WHEN actor = 'policy' THEN 'upkeep'
    ELSE 'person' END;
UPDATE operation SET retests = 1
WHERE kind IN ('reboot', 'replace') AND code LIKE 'deep.%' AND code <> 'deep.connectivity';
