-- Rules have the words of the rest. Only names change: what was decided stays.
UPDATE decision SET rule = 'recurring-hardware' WHERE rule = 'same-hardware-came-back';
UPDATE decision SET rule = 'weak-findings-together' WHERE rule = 'weak-signs-together';
UPDATE decision SET rule = 'external-drain' WHERE rule = 'foreign-drain';
UPDATE decision SET rule = 'cleared-by-reset' WHERE rule = 'before-the-reset';
