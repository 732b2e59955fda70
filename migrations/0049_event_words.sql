-- Events have the words of the rest. Only the names of kinds change.
UPDATE event SET kind = 'scheduler-configuration' WHERE kind = 'scheduler-layout';
