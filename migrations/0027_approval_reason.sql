-- Why a person said yes or no to a repair.
ALTER TABLE approval ADD COLUMN reason TEXT NOT NULL DEFAULT '';
