-- What scheduler configurations and quotas ask for, in words of our own (model/governance_spec.c) instead of the AWS model's. json_patch
-- leaves out what is null, which is what was not said; it does not look into lists.
UPDATE governance_version SET config = json_patch('{}', json_object(
    'classes', json(CASE json_type(config, '$.PriorityClasses') WHEN 'array' THEN (
        SELECT json_group_array(json_object('name', json_extract(value, '$.Name'), 'weight', json_extract(value, '$.Weight')))
        FROM json_each(config, '$.PriorityClasses')) END),
    'fairShare', json(CASE json_extract(config, '$.FairShare') WHEN 'Enabled' THEN 'true' WHEN 'Disabled' THEN 'false' END),
    'idleSharing', json(CASE json_extract(config, '$.IdleResourceSharing')
        WHEN 'Enabled' THEN 'true' WHEN 'Disabled' THEN 'false' END),
    'amounts', json(CASE json_type(config, '$.ComputeQuotaResources') WHEN 'array' THEN (
        SELECT json_group_array(json_patch('{}', json_object(
            'instanceType', json_extract(value, '$.InstanceType'),
            'nodes', json_extract(value, '$.Count'),
            'accelerators', json_extract(value, '$.Accelerators'),
            'cpus', json_extract(value, '$.VCpu'),
            'memoryGib', json_extract(value, '$.MemoryInGiB'),
            'slice', json(CASE json_type(value, '$.AcceleratorPartition') WHEN 'object' THEN json_object(
                'kind', json_extract(value, '$.AcceleratorPartition.Type'),
                'count', json_extract(value, '$.AcceleratorPartition.Count')) END))))
        FROM json_each(config, '$.ComputeQuotaResources')) END),
    'sharing', json(CASE json_type(config, '$.ResourceSharingConfig') WHEN 'object' THEN json_object(
        'strategy', CASE json_extract(config, '$.ResourceSharingConfig.Strategy')
            WHEN 'DontLend' THEN 'dont-lend' WHEN 'Lend' THEN 'lend' WHEN 'LendAndBorrow' THEN 'lend-and-borrow' END,
        'borrowPercent', json_extract(config, '$.ResourceSharingConfig.BorrowLimit'),
        'borrowAtMost', json(CASE json_type(config, '$.ResourceSharingConfig.AbsoluteBorrowLimits') WHEN 'array' THEN (
            SELECT json_group_array(json_patch('{}', json_object(
                'instanceType', json_extract(value, '$.InstanceType'),
                'nodes', json_extract(value, '$.Count'),
                'accelerators', json_extract(value, '$.Accelerators'),
                'cpus', json_extract(value, '$.VCpu'),
                'memoryGib', json_extract(value, '$.MemoryInGiB'),
                'slice', json(CASE json_type(value, '$.AcceleratorPartition') WHEN 'object' THEN json_object(
                    'kind', json_extract(value, '$.AcceleratorPartition.Type'),
                    'count', json_extract(value, '$.AcceleratorPartition.Count')) END))))
            FROM json_each(config, '$.ResourceSharingConfig.AbsoluteBorrowLimits')) END)) END),
    'preempts', json(CASE json_extract(config, '$.PreemptTeamTasks')
        WHEN 'LowerPriority' THEN 'true' WHEN 'Never' THEN 'false' END)))
WHERE json_valid(config);
