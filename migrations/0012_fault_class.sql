-- What is broken, beside each decision. Of those that were decided before, nobody wrote it down.
ALTER TABLE decision ADD COLUMN fault_class TEXT NOT NULL DEFAULT 'unknown';
