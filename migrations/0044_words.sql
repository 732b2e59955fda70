-- Columns and tables have the words of the rest: no value changes.
ALTER TABLE apart RENAME TO quarantine;
ALTER TABLE agent_settings_told RENAME TO agent_settings_report;
ALTER TABLE scheduler_address RENAME COLUMN told TO reported;
ALTER TABLE webhook RENAME COLUMN told TO reported;
ALTER TABLE webhook RENAME COLUMN given_up TO expired;
ALTER TABLE incident RENAME COLUMN calm_since TO settled_since;
ALTER TABLE instance_group RENAME COLUMN unborn TO provision_failures;
ALTER TABLE instance_group RENAME COLUMN unborn_at TO provision_failed_at;
ALTER TABLE operation RENAME COLUMN mended_at TO cleared_by_reset_at;
ALTER TABLE governance_held RENAME COLUMN thing TO object;
