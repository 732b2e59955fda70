-- A piece is looked for in other machines by what tells it from all others.
CREATE INDEX hardware_by_identity ON hardware (identity) WHERE identity <> '';
CREATE INDEX hardware_by_serial ON hardware (serial) WHERE serial <> '';
