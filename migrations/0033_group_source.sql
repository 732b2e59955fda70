-- Which of the scheduler's nodes a group was made of: those of a partition, with a feature, or both. '': it was not.
ALTER TABLE instance_group ADD COLUMN source_partition TEXT NOT NULL DEFAULT '';
ALTER TABLE instance_group ADD COLUMN source_feature TEXT NOT NULL DEFAULT '';
