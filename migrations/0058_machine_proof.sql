-- Since when a machine's agent has found nothing wrong while it waited; and whether a use ended for a fault that the policy saw.
ALTER TABLE machine ADD COLUMN well_since INTEGER NOT NULL DEFAULT 0;
ALTER TABLE machine_use ADD COLUMN fault INTEGER NOT NULL DEFAULT 0;
