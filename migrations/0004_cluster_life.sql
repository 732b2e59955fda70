-- The life of clusters after their creation: states of clusters and groups with the reason of a failure, what a roll-back goes
-- back to, the image an instance was launched from, the zone of a slot; the documents that were asked for; rolling updates.

ALTER TABLE cluster ADD COLUMN provisioning TEXT NOT NULL DEFAULT 'continuous';
ALTER TABLE cluster ADD COLUMN failure TEXT NOT NULL DEFAULT '';

ALTER TABLE instance_group ADD COLUMN state TEXT NOT NULL DEFAULT 'in-service';
ALTER TABLE instance_group ADD COLUMN failure TEXT NOT NULL DEFAULT '';
ALTER TABLE instance_group ADD COLUMN min_count INTEGER NOT NULL DEFAULT 0;
ALTER TABLE instance_group ADD COLUMN previous_desired INTEGER NOT NULL DEFAULT -1;
ALTER TABLE instance_group ADD COLUMN state_since INTEGER NOT NULL DEFAULT 0;
ALTER TABLE instance_group ADD COLUMN image_id TEXT NOT NULL DEFAULT '';
ALTER TABLE instance_group ADD COLUMN release TEXT NOT NULL DEFAULT '';

-- Groups that are still being created go into service with their cluster.
UPDATE instance_group SET state = 'creating', state_since = created_at
    WHERE desired > 0 AND cluster_id IN (SELECT id FROM cluster WHERE state = 'creating');

ALTER TABLE node ADD COLUMN zone TEXT NOT NULL DEFAULT '';

ALTER TABLE instance ADD COLUMN image_id TEXT NOT NULL DEFAULT '';
ALTER TABLE instance ADD COLUMN release TEXT NOT NULL DEFAULT '';

-- What was asked for, member by member in the spelling of the AWS model, without what has a column of its own.
CREATE TABLE cluster_document (
    cluster_id INTEGER PRIMARY KEY REFERENCES cluster (id) ON DELETE CASCADE,
    document TEXT NOT NULL
) STRICT;
CREATE TABLE group_document (
    group_id INTEGER PRIMARY KEY REFERENCES instance_group (id) ON DELETE CASCADE,
    document TEXT NOT NULL
) STRICT;

CREATE TABLE rollout (
    group_id INTEGER PRIMARY KEY REFERENCES instance_group (id) ON DELETE CASCADE,
    state TEXT NOT NULL,
    image_id TEXT NOT NULL,
    release TEXT NOT NULL,
    previous_image_id TEXT NOT NULL,
    previous_release TEXT NOT NULL,
    batch_value INTEGER NOT NULL,
    batch_is_percent INTEGER NOT NULL CHECK (batch_is_percent IN (0, 1)),
    rollback_batch_value INTEGER NOT NULL,
    rollback_is_percent INTEGER NOT NULL CHECK (rollback_is_percent IN (0, 1)),
    wait_ms INTEGER NOT NULL,
    batch INTEGER NOT NULL,
    next_batch_at INTEGER NOT NULL,
    failure TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL
) STRICT;
CREATE INDEX rollout_active ON rollout (group_id) WHERE state IN ('pending', 'in-progress', 'rolling-back');

-- Additions under a client's token: the same token gives back the same slots for some hours.
CREATE TABLE addition (
    cluster_id INTEGER NOT NULL REFERENCES cluster (id) ON DELETE CASCADE,
    token TEXT NOT NULL,
    digest BLOB NOT NULL CHECK (length(digest) = 32),
    document TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    PRIMARY KEY (cluster_id, token)
) STRICT, WITHOUT ROWID;
CREATE INDEX addition_by_age ON addition (created_at);

-- What HyperPod's records of events carry beside their text.
ALTER TABLE event ADD COLUMN failure TEXT NOT NULL DEFAULT '';
ALTER TABLE event ADD COLUMN instance_count INTEGER NOT NULL DEFAULT 0;
ALTER TABLE event ADD COLUMN target_count INTEGER NOT NULL DEFAULT 0;
ALTER TABLE event ADD COLUMN min_count INTEGER NOT NULL DEFAULT 0;
ALTER TABLE event ADD COLUMN script_state TEXT NOT NULL DEFAULT '';
