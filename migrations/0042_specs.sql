-- What is asked for of groups and clusters, in words of our own (model/group_spec.c) instead of the AWS model's. json_patch leaves out
-- what is null, which is what was not said; it does not look into lists.
CREATE TABLE group_spec (
    group_id INTEGER PRIMARY KEY REFERENCES instance_group (id) ON DELETE CASCADE,
    spec TEXT NOT NULL
) STRICT;
CREATE TABLE cluster_spec (
    cluster_id INTEGER PRIMARY KEY REFERENCES cluster (id) ON DELETE CASCADE,
    spec TEXT NOT NULL
) STRICT;

INSERT INTO group_spec (group_id, spec)
SELECT group_id, json_patch('{}', json_object(
    'lifecycle', json(CASE json_type(document, '$.LifeCycleConfig') WHEN 'object' THEN json_object(
        'source', json_extract(document, '$.LifeCycleConfig.SourceS3Uri'),
        'onCreate', json_extract(document, '$.LifeCycleConfig.OnCreate'),
        'onInitComplete', json_extract(document, '$.LifeCycleConfig.OnInitComplete')) END),
    'slurm', json(CASE json_type(document, '$.SlurmConfig') WHEN 'object' THEN json_object(
        'role', lower(json_extract(document, '$.SlurmConfig.NodeType')),
        'partitions', json(json_extract(document, '$.SlurmConfig.PartitionNames'))) END),
    'slurmByFile', json(CASE json_type(document, '$.ProvisioningParameters') WHEN 'object' THEN json_object(
        'role', lower(json_extract(document, '$.ProvisioningParameters.NodeType')),
        'partitions', json(json_extract(document, '$.ProvisioningParameters.PartitionNames'))) END),
    'network', json(CASE json_type(document, '$.OverrideVpcConfig') WHEN 'object' THEN json_object(
        'subnets', json(json_extract(document, '$.OverrideVpcConfig.Subnets')),
        'securityGroups', json(json_extract(document, '$.OverrideVpcConfig.SecurityGroupIds'))) END),
    'checksOnStart', json(CASE json_type(document, '$.OnStartDeepHealthChecks') WHEN 'array' THEN (
        SELECT json_group_array(CASE value WHEN 'InstanceStress' THEN 'instance-stress' ELSE 'instance-connectivity' END)
        FROM json_each(document, '$.OnStartDeepHealthChecks')) END),
    'requirements', json(CASE json_type(document, '$.InstanceRequirements') WHEN 'object' THEN json_object(
        'instanceTypes', json(json_extract(document, '$.InstanceRequirements.InstanceTypes'))) END),
    'executionRole', json_extract(document, '$.ExecutionRole'),
    'threadsPerCore', json_extract(document, '$.ThreadsPerCore'),
    'storage', json(CASE json_type(document, '$.InstanceStorageConfigs') WHEN 'array' THEN (
        SELECT json_group_array(json_patch('{}', json_object(
            'volume', json(CASE json_type(value, '$.EbsVolumeConfig') WHEN 'object' THEN json_object(
                'sizeGb', json_extract(value, '$.EbsVolumeConfig.VolumeSizeInGB'),
                'key', json_extract(value, '$.EbsVolumeConfig.VolumeKmsKeyId'),
                'root', json(json_type(value, '$.EbsVolumeConfig.RootVolume'))) END),
            'lustre', json(CASE json_type(value, '$.FsxLustreConfig') WHEN 'object' THEN json_object(
                'address', json_extract(value, '$.FsxLustreConfig.DnsName'),
                'name', json_extract(value, '$.FsxLustreConfig.MountName'),
                'path', json_extract(value, '$.FsxLustreConfig.MountPath')) END),
            'zfs', json(CASE json_type(value, '$.FsxOpenZfsConfig') WHEN 'object' THEN json_object(
                'address', json_extract(value, '$.FsxOpenZfsConfig.DnsName'),
                'path', json_extract(value, '$.FsxOpenZfsConfig.MountPath')) END))))
        FROM json_each(document, '$.InstanceStorageConfigs')) END),
    'interface', json(CASE json_type(document, '$.NetworkInterface') WHEN 'object' THEN json_object(
        'kind', json_extract(document, '$.NetworkInterface.InterfaceType')) END),
    'capacity', json(CASE json_type(document, '$.CapacityRequirements') WHEN 'object' THEN json_object(
        'onDemand', json(json_extract(document, '$.CapacityRequirements.OnDemand'))) END)))
FROM group_document WHERE json_valid(document);

INSERT INTO cluster_spec (cluster_id, spec)
SELECT cluster_id, json_patch('{}', json_object(
    'network', json(CASE json_type(document, '$.VpcConfig') WHEN 'object' THEN json_object(
        'subnets', json(json_extract(document, '$.VpcConfig.Subnets')),
        'securityGroups', json(json_extract(document, '$.VpcConfig.SecurityGroupIds'))) END),
    'role', json_extract(document, '$.ClusterRole'),
    'strategy', json_extract(document, '$.Orchestrator.Slurm.SlurmConfigStrategy'),
    'tieredStorage', json(CASE json_type(document, '$.TieredStorageConfig') WHEN 'object' THEN json_object(
        'mode', 'off',
        'memoryPercent', json_extract(document, '$.TieredStorageConfig.InstanceMemoryAllocationPercentage')) END),
    'autoScaling', json(CASE json_type(document, '$.AutoScaling') WHEN 'object' THEN json_object(
        'mode', 'off',
        'scaler', lower(json_extract(document, '$.AutoScaling.AutoScalerType'))) END),
    'madeBy', json_extract(document, '$.Invocation')))
FROM cluster_document WHERE json_valid(document);

DROP TABLE group_document;
DROP TABLE cluster_document;
