// Task governance and tags through the real AWS SDK: each operation with full, minimal and wrong input, errors by their class,
// paginators to their end while the list changes, and nothing that claims to be applied.
import * as sdk from '@aws-sdk/client-sagemaker';
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { aws } from '../lib/aws.mjs';
import { Local } from '../lib/local.mjs';
import { until } from '../lib/world.mjs';

const world = new Local();
const arns = {}; // by cluster
let client, viewer, operator;

const send = (name, input = {}, by = client) => by.send(new sdk[`${name}Command`](input));
const is = (type, pattern = /./) => (error) => {
  if (typeof type === 'string') assert.equal(error.name, type, error.message);
  else assert.ok(error instanceof type, `${error.name}: ${error.message}`);
  assert.match(error.message, pattern);
  return true;
};
const NOWHERE = 'arn:aws:sagemaker:us-west-2:000000000000:cluster/aaaaaaaaaaaa';
const quota = (name, more = {}) => ({ Name: name, ClusterArn: arns.train, ComputeQuotaConfig: {}, ComputeQuotaTarget: { TeamName: name }, ...more });

before(async () => {
  await world.start();
  client = await aws(world, 'admin');
  viewer = await aws(world, 'viewer');
  operator = await aws(world, 'operator');
  for (const name of ['train', 'serve', 'empty']) {
    const { status, body } = await world.call('POST', '/v1/clusters', { name, orchestrator: 'none', instanceGroups: [{ name: 'gpu', instanceCount: name === 'empty' ? 0 : 1, provider: 'manual' }] });
    assert.equal(status, 201, JSON.stringify(body));
    arns[name] = (await send('DescribeCluster', { ClusterName: name })).ClusterArn;
  }
});
after(() => world.end());

test('a scheduler configuration from its creation to its end', async () => {
  const SchedulerConfig = { PriorityClasses: [{ Name: 'prod', Weight: 100 }, { Name: 'dev', Weight: 0 }], FairShare: 'Enabled', IdleResourceSharing: 'Disabled' };
  const full = { Name: 'train-policy', ClusterArn: arns.train, SchedulerConfig, Description: 'für alle', Tags: [{ Key: 'team', Value: 'platform' }] };
  const made = await send('CreateClusterSchedulerConfig', full);
  assert.match(made.ClusterSchedulerConfigArn, /^arn:aws:sagemaker:us-west-2:000000000000:cluster-scheduler-config\/[a-z0-9]{12}$/);
  assert.ok(made.ClusterSchedulerConfigArn.endsWith(`/${made.ClusterSchedulerConfigId}`));
  const { ClusterSchedulerConfigId } = made;
  const one = await send('DescribeClusterSchedulerConfig', { ClusterSchedulerConfigId }, viewer);
  assert.deepEqual(one.SchedulerConfig, SchedulerConfig);
  assert.deepEqual([one.Name, one.Description, one.ClusterArn, one.ClusterSchedulerConfigVersion], ['train-policy', 'für alle', arns.train, 1]);
  assert.ok(one.CreationTime instanceof Date && one.LastModifiedTime instanceof Date);
  assert.match(one.CreatedBy.IamIdentity.PrincipalId, /^key:admin/);
  // Nobody who waits for Created may go on as if it were in force.
  assert.equal(one.Status, 'CreateFailed');
  assert.match(one.FailureReason, /not applied/);
  assert.deepEqual(one.StatusDetails, { PriorityClasses: 'CreateFailed', FairShare: 'CreateFailed', IdleResourceSharing: 'CreateFailed' });

  await assert.rejects(send('CreateClusterSchedulerConfig', { ...full, Name: 'second' }), is(sdk.ConflictException, /can have one/));
  await assert.rejects(send('CreateClusterSchedulerConfig', { ...full, ClusterArn: arns.serve }), is(sdk.ConflictException, /train-policy/));
  const minimal = await send('CreateClusterSchedulerConfig', { Name: 'serve-policy', ClusterArn: arns.serve, SchedulerConfig: {} });
  assert.deepEqual((await send('DescribeClusterSchedulerConfig', minimal)).SchedulerConfig, {});

  const changed = await send('UpdateClusterSchedulerConfig', { ClusterSchedulerConfigId, TargetVersion: 1, SchedulerConfig: { FairShare: 'Disabled' }, Description: 'anew' }, operator);
  assert.deepEqual([changed.ClusterSchedulerConfigArn, changed.ClusterSchedulerConfigVersion], [made.ClusterSchedulerConfigArn, 2]);
  await assert.rejects(send('UpdateClusterSchedulerConfig', { ClusterSchedulerConfigId, TargetVersion: 1 }), is(sdk.ConflictException, /version 2/));
  assert.equal((await send('UpdateClusterSchedulerConfig', { ClusterSchedulerConfigId, TargetVersion: 2 })).ClusterSchedulerConfigVersion, 3);
  const old = await send('DescribeClusterSchedulerConfig', { ClusterSchedulerConfigId, ClusterSchedulerConfigVersion: 1 });
  assert.deepEqual(old.SchedulerConfig, SchedulerConfig);
  const now = await send('DescribeClusterSchedulerConfig', { ClusterSchedulerConfigId });
  assert.deepEqual([now.SchedulerConfig, now.Description, now.Status], [{ FairShare: 'Disabled' }, 'anew', 'UpdateFailed']);
  await assert.rejects(send('DescribeClusterSchedulerConfig', { ClusterSchedulerConfigId, ClusterSchedulerConfigVersion: 9 }), is(sdk.ResourceNotFound, /version/));

  const { ClusterSchedulerConfigSummaries: all } = await send('ListClusterSchedulerConfigs', {}, viewer);
  assert.deepEqual(all.map((c) => [c.Name, c.ClusterSchedulerConfigVersion, c.Status]), [['serve-policy', 1, 'CreateFailed'], ['train-policy', 3, 'UpdateFailed']]);
  const found = await send('ListClusterSchedulerConfigs', { ClusterArn: arns.train, Status: 'UpdateFailed', NameContains: 'policy', SortBy: 'Name', SortOrder: 'Ascending', CreatedBefore: new Date(Date.now() + 60000), CreatedAfter: new Date(0), MaxResults: 100 });
  assert.deepEqual(found.ClusterSchedulerConfigSummaries.map((c) => c.Name), ['train-policy']);

  await assert.rejects(send('DeleteClusterSchedulerConfig', { ClusterSchedulerConfigId }, operator), is('AccessDeniedException'));
  await send('DeleteClusterSchedulerConfig', { ClusterSchedulerConfigId });
  for (const name of ['Describe', 'Delete']) await assert.rejects(send(`${name}ClusterSchedulerConfig`, { ClusterSchedulerConfigId }), is(sdk.ResourceNotFound));
  await assert.rejects(send('UpdateClusterSchedulerConfig', { ClusterSchedulerConfigId, TargetVersion: 3 }), is(sdk.ResourceNotFound));
});

test('a compute quota from its creation to its end', async () => {
  const ComputeQuotaConfig = {
    ComputeQuotaResources: [{ InstanceType: 'ml.p5.48xlarge', Count: 4, Accelerators: 32, VCpu: 0.5, MemoryInGiB: 2048.25 }, { InstanceType: 'ml.p4d.24xlarge', AcceleratorPartition: { Type: 'mig-1g.5gb', Count: 7 } }],
    ResourceSharingConfig: { Strategy: 'LendAndBorrow', BorrowLimit: 50, AbsoluteBorrowLimits: [{ InstanceType: 'ml.p5.48xlarge', Count: 1 }] },
    PreemptTeamTasks: 'LowerPriority',
  };
  const made = await send('CreateComputeQuota', quota('vision', { ComputeQuotaConfig, ComputeQuotaTarget: { TeamName: 'vision', FairShareWeight: 10 }, ActivationState: 'Enabled', Description: 'a', Tags: [{ Key: 'a', Value: '' }] }));
  assert.match(made.ComputeQuotaArn, /^arn:aws:sagemaker:us-west-2:000000000000:compute-quota\/[a-z0-9]{12}$/);
  const { ComputeQuotaId } = made;
  const one = await send('DescribeComputeQuota', { ComputeQuotaId }, viewer);
  assert.deepEqual(one.ComputeQuotaConfig, ComputeQuotaConfig);
  assert.deepEqual(one.ComputeQuotaTarget, { TeamName: 'vision', FairShareWeight: 10 });
  assert.deepEqual([one.Status, one.ActivationState, one.ComputeQuotaVersion, one.ClusterArn], ['CreateFailed', 'Enabled', 1, arns.train]);
  assert.match(one.FailureReason, /not applied/);
  await assert.rejects(send('CreateComputeQuota', quota('speech', { ComputeQuotaTarget: { TeamName: 'vision' } })), is(sdk.ConflictException, /"vision"/));
  await assert.rejects(send('CreateComputeQuota', quota('vision', { ComputeQuotaTarget: { TeamName: 'speech' } })), is(sdk.ConflictException));
  // Switched off it stands as it was asked to, with nothing to apply.
  assert.equal((await send('UpdateComputeQuota', { ComputeQuotaId, TargetVersion: 1, ActivationState: 'Disabled', ComputeQuotaTarget: { TeamName: 'sight' } }, operator)).ComputeQuotaVersion, 2);
  const off = await send('DescribeComputeQuota', { ComputeQuotaId });
  assert.deepEqual([off.Status, off.FailureReason, off.ComputeQuotaTarget.TeamName], ['Updated', undefined, 'sight']);
  await assert.rejects(send('UpdateComputeQuota', { ComputeQuotaId, TargetVersion: 1 }), is(sdk.ConflictException));
  assert.equal((await send('DescribeComputeQuota', { ComputeQuotaId, ComputeQuotaVersion: 1 })).Status, 'CreateFailed');
  await assert.rejects(send('DescribeComputeQuota', { ComputeQuotaId, ComputeQuotaVersion: 3 }), is(sdk.ResourceNotFound));
  await assert.rejects(send('DeleteComputeQuota', { ComputeQuotaId }, viewer), is('AccessDeniedException'));
  await send('DeleteComputeQuota', { ComputeQuotaId });
  for (const name of ['Describe', 'Delete']) await assert.rejects(send(`${name}ComputeQuota`, { ComputeQuotaId }), is(sdk.ResourceNotFound));
  await assert.rejects(send('UpdateComputeQuota', { ComputeQuotaId, TargetVersion: 2 }), is(sdk.ResourceNotFound));
});

test('wrong input is refused with the member and the rule', async () => {
  const p5 = { InstanceType: 'ml.p5.48xlarge' };
  const policy = (SchedulerConfig, more = {}) => ['CreateClusterSchedulerConfig', { Name: 'x', ClusterArn: arns.empty, SchedulerConfig, ...more }];
  const team = (ComputeQuotaConfig, more = {}) => ['CreateComputeQuota', quota('x', { ComputeQuotaConfig, ...more })];
  const cases = [
    [...policy({}, { Name: '-' }), /'name'/],
    [...policy({}, { ClusterArn: 'train' }), /'clusterArn'/],
    [...policy(undefined), /'schedulerConfig'/],
    [...policy({ FairShare: 'On' }), /'schedulerConfig.fairShare'.*\[Disabled, Enabled\]/],
    [...policy({ PriorityClasses: [{ Name: 'a', Weight: 101 }] }), /less than or equal to 100/],
    [...policy({ PriorityClasses: Array.from({ length: 11 }, (_, i) => ({ Name: `a${i}`, Weight: 1 })) }), /10/],
    [...policy({ PriorityClasses: [{ Name: 'a', Weight: 1 }, { Name: 'a', Weight: 2 }] }), /comes twice/],
    [...policy({ PriorityClasses: [{ Name: 'a'.repeat(41), Weight: 1 }] }), /41 characters/],
    [...policy({}, { Tags: [{ Key: 'aws:x', Value: '' }] }), /aws:/],
    [...policy({}, { Tags: [{ Key: 'a', Value: '' }, { Key: 'a', Value: 'b' }] }), /comes twice/],
    [...policy({}, { Description: 'a'.repeat(1025) }), /'description'/],
    [...team({}, { ComputeQuotaTarget: { TeamName: 'A' } }), /'computeQuotaTarget.teamName'/],
    [...team({}, { ComputeQuotaTarget: { TeamName: 'a', FairShareWeight: -1 } }), /greater than or equal to 0/],
    [...team({}, { ActivationState: 'On' }), /'activationState'/],
    [...team({ ComputeQuotaResources: [{ InstanceType: 'p5' }] }), /'computeQuotaConfig.computeQuotaResources.1.member.instanceType'/],
    [...team({ ComputeQuotaResources: [p5] }), /without an amount/],
    [...team({ ComputeQuotaResources: [{ ...p5, Count: 1 }, { ...p5, VCpu: 1 }] }), /twice/],
    [...team({ ResourceSharingConfig: { Strategy: 'DontLend', BorrowLimit: 1 } }), /DontLend/],
    ['DescribeComputeQuota', {}, /'computeQuotaId'/],
    ['DescribeComputeQuota', { ComputeQuotaId: 'short' }, /'computeQuotaId'/],
    ['UpdateComputeQuota', { ComputeQuotaId: 'aaaaaaaaaaaa' }, /'targetVersion'/],
    ['DeleteClusterSchedulerConfig', {}, /'clusterSchedulerConfigId'/],
    ['ListComputeQuotas', { SortBy: 'Age' }, /'sortBy'/],
    ['ListComputeQuotas', { MaxResults: 101 }, /'maxResults'/],
    ['ListClusterSchedulerConfigs', { Status: 'Good' }, /'status'/],
    ['ListComputeQuotas', { NextToken: 'x' }, /NextToken/],
    ['AddTags', { ResourceArn: arns.empty }, /'tags'/],
    ['AddTags', { ResourceArn: 'x', Tags: [] }, /'resourceArn'/],
    ['AddTags', { ResourceArn: arns.empty, Tags: [{ Key: 'ä!', Value: '' }] }, /'tags.1.member.key'/],
    ['DeleteTags', { ResourceArn: arns.empty, TagKeys: [] }, /'tagKeys'/],
    ['ListTags', { ResourceArn: arns.empty, MaxResults: 49 }, /'maxResults'/],
    ['ListTags', { ResourceArn: arns.empty, NextToken: 'x' }, /NextToken/],
  ];
  for (const [name, input, pattern] of cases) await assert.rejects(send(name, input), is('ValidationException', pattern), `${name} ${JSON.stringify(input)}`);
  for (const [name, input] of [policy({}, { ClusterArn: NOWHERE }), team({}, { ClusterArn: NOWHERE }), ['ListTags', { ResourceArn: NOWHERE }], ['AddTags', { ResourceArn: NOWHERE, Tags: [] }], ['DeleteTags', { ResourceArn: NOWHERE, TagKeys: ['a'] }]])
    await assert.rejects(send(name, input), is(sdk.ResourceNotFound), name);
  await assert.rejects(send('CreateComputeQuota', quota('x'), operator), is('AccessDeniedException'));
});

test('quotas in pages of every size and order', async () => {
  const names = ['echo', 'alpha', 'delta', 'bravo', 'charlie'];
  for (const name of names) await send('CreateComputeQuota', quota(name));
  for (const SortBy of ['Name', 'CreationTime', 'Status', 'ClusterArn'])
    for (const SortOrder of ['Ascending', 'Descending'])
      for (const pageSize of [1, 2, 5]) {
        const seen = [];
        for await (const page of sdk.paginateListComputeQuotas({ client, pageSize }, { SortBy, SortOrder })) seen.push(...page.ComputeQuotaSummaries.map((q) => q.Name));
        const all = SortBy === 'Name' ? [...names].sort() : names;
        assert.deepEqual(seen, SortOrder === 'Descending' ? [...all].reverse() : all, `${SortBy} ${SortOrder} ${pageSize}`);
      }
  const { ComputeQuotaSummaries: [newest] } = await send('ListComputeQuotas', { MaxResults: 1 });
  assert.equal(newest.Name, 'charlie'); // the newest first
  assert.deepEqual([newest.ActivationState, newest.ComputeQuotaTarget], ['Enabled', { TeamName: 'charlie', FairShareWeight: 0 }]);
  assert.deepEqual((await send('ListComputeQuotas', { ClusterArn: arns.serve })).ComputeQuotaSummaries, []);
});

test('a list that changes while it is paged through repeats nothing and hides nothing', async () => {
  const ids = Object.fromEntries((await send('ListComputeQuotas')).ComputeQuotaSummaries.map((q) => [q.Name, q.ComputeQuotaId]));
  const seen = [];
  const during = [() => send('CreateComputeQuota', quota('newer')), () => send('DeleteComputeQuota', { ComputeQuotaId: ids.charlie }), () => send('DeleteComputeQuota', { ComputeQuotaId: ids.alpha }), () => send('CreateComputeQuota', quota('newest'))];
  for await (const page of sdk.paginateListComputeQuotas({ client, pageSize: 1 }, {})) {
    seen.push(...page.ComputeQuotaSummaries.map((q) => q.Name));
    await during.shift()?.();
  }
  assert.deepEqual(during, []);
  assert.deepEqual(seen, ['charlie', 'bravo', 'delta', 'echo']); // alpha went before its turn
  const left = [];
  for await (const page of sdk.paginateListClusterSchedulerConfigs({ client, pageSize: 1 }, { SortBy: 'Status' })) left.push(...page.ClusterSchedulerConfigSummaries.map((c) => c.Name));
  assert.deepEqual(left, ['serve-policy']);
});

test('tags of all that carries them', async () => {
  const { ComputeQuotaArn } = await send('CreateComputeQuota', quota('tagged', { Tags: [{ Key: 'first', Value: 'with it' }] }));
  const { ClusterSchedulerConfigArn } = await send('CreateClusterSchedulerConfig', { Name: 'tagged', ClusterArn: arns.train, SchedulerConfig: {}, Tags: [{ Key: 'first', Value: 'with it' }] });
  await send('AddTags', { ResourceArn: arns.train, Tags: [{ Key: 'first', Value: 'with it' }] }, operator);
  for (const ResourceArn of [arns.train, ClusterSchedulerConfigArn, ComputeQuotaArn]) {
    assert.deepEqual((await send('ListTags', { ResourceArn }, viewer)).Tags, [{ Key: 'first', Value: 'with it' }]);
    const { Tags } = await send('AddTags', { ResourceArn, Tags: [{ Key: 'first', Value: 'anew' }, { Key: 'größe:1/2=+-@_.', Value: '' }] });
    assert.deepEqual(Tags, [{ Key: 'first', Value: 'anew' }, { Key: 'größe:1/2=+-@_.', Value: '' }]);
    await send('AddTags', { ResourceArn, Tags: Array.from({ length: 48 }, (_, i) => ({ Key: `k${i}`, Value: 'v' })) });
    await assert.rejects(send('AddTags', { ResourceArn, Tags: [{ Key: 'more', Value: '' }] }), is(sdk.ResourceLimitExceeded, /50/));
    const seen = [];
    for await (const page of sdk.paginateListTags({ client, pageSize: 50 }, { ResourceArn })) seen.push(...page.Tags);
    assert.equal(seen.length, 50);
    await assert.rejects(send('DeleteTags', { ResourceArn, TagKeys: ['k0'] }, operator), is('AccessDeniedException'));
    await send('DeleteTags', { ResourceArn, TagKeys: ['first', 'nothing', ...Array.from({ length: 47 }, (_, i) => `k${i}`)] });
    assert.deepEqual((await send('ListTags', { ResourceArn })).Tags.map((t) => t.Key), ['größe:1/2=+-@_.', 'k47'].sort());
  }
});

test('a region too short for the pattern of its ARN', async () => {
  const short = await aws(world, 'admin', { region: 'eu-x-1' });
  const made = await send('CreateClusterSchedulerConfig', { Name: 'short', ClusterArn: arns.empty, SchedulerConfig: {} }, short);
  assert.match(made.ClusterSchedulerConfigArn, /^arn:aws:sagemaker:hp-local-1:/);
  assert.deepEqual((await send('ListTags', { ResourceArn: made.ClusterSchedulerConfigArn }, short)).Tags, []);
});

test('all of it goes with the cluster, and what happened is in the timeline', async () => {
  const { Events } = await send('ListClusterEvents', { ClusterName: 'train', ResourceType: 'Cluster' });
  for (const pattern of [/created the compute quota "vision"/, /changed the scheduler configuration/, /deleted the compute quota/, /set 48 tags of the cluster/])
    assert.ok(Events.some((e) => pattern.test(e.Description)), `${pattern}`);
  assert.ok(Events.some((e) => /not applied/.test(e.Description) && e.EventLevel === 'Warn'));
  await send('DeleteCluster', { ClusterName: 'empty' });
  await until('its configuration is gone', async () => {
    const { ClusterSchedulerConfigSummaries: all } = await send('ListClusterSchedulerConfigs', { NameContains: 'short' });
    return all.length === 0;
  });
  await assert.rejects(send('ListTags', { ResourceArn: arns.empty }), is(sdk.ResourceNotFound));
});
