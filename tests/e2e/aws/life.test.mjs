// A cluster's life from the AWS SDK alone, on machines of the local provider with real agents: created, grown, shrunk, added to,
// replaced, updated, checked, taken from and deleted; and creations that come to nothing.
import * as sdk from '@aws-sdk/client-sagemaker';
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { aws } from '../lib/aws.mjs';
import { Local } from '../lib/local.mjs';
import { until } from '../lib/world.mjs';

const world = new Local({
  config: { imageRelease: '1.0.0', subnets: [{ id: 'subnet-a', zone: 'hp-local-1a' }, { id: 'subnet-b', zone: 'hp-local-1b' }] },
});
const ClusterName = 'forge';
const WAIT_MS = 180000; // machines of tests are slow ones
let client;

before(async () => {
  await world.start();
  client = await aws(world, 'admin', { region: 'hp-local-1' });
});
after(() => world.end());

const send = (name, input) => client.send(new sdk[`${name}Command`]({ ClusterName, ...input }));
const describe = (name = ClusterName) => send('DescribeCluster', { ClusterName: name });
const group = async (name) => (await describe()).InstanceGroups.find((g) => g.InstanceGroupName === name);
const is = (type, pattern = /./) => (error) => {
  if (typeof type === 'string') assert.equal(error.name, type, error.message);
  else assert.ok(error instanceof type, `${error.name}: ${error.message}`);
  assert.match(error.message, pattern);
  return true;
};
const spec = (InstanceGroupName, InstanceCount, more = {}) => ({
  InstanceGroupName, InstanceCount, InstanceType: 'ml.p5.48xlarge', ExecutionRole: 'arn:aws:iam::000000000000:role/node', ...more,
});

// All nodes, page by page.
async function nodes(name = ClusterName) {
  const all = [];
  for await (const page of sdk.paginateListClusterNodes({ client, pageSize: 2 }, { ClusterName: name, IncludeNodeLogicalIds: true })) all.push(...page.ClusterNodeSummaries);
  return all;
}
const ids = (list) => Object.fromEntries(list.map((n) => [n.NodeLogicalId, n.InstanceId]));
// So many nodes of the group, all of them running, and nothing on its way.
const settled = (name, count) =>
  until(`${name} has ${count} nodes that run`, async () => {
    const list = (await nodes()).filter((n) => n.InstanceGroupName === name);
    const g = await group(name);
    return list.length === count && list.every((n) => n.InstanceStatus.Status === 'Running') && g.CurrentCount === count && g.Status === 'InService' && !g.ActiveOperations && list;
  }, WAIT_MS);
const events = async (input = {}) => {
  const all = [];
  for await (const page of sdk.paginateListClusterEvents({ client }, { ClusterName, ...input })) all.push(...page.Events);
  return all;
};

let arn;

test('created: from Creating to InService, with its tags, in the zones of its subnets', async () => {
  const reply = await send('CreateCluster', {
    NodeProvisioningMode: 'Continuous',
    NodeRecovery: 'Automatic',
    InstanceGroups: [spec('gpu', 2, { ThreadsPerCore: 1, MinInstanceCount: 1 }), spec('io', 1, { InstanceType: 'ml.c5.large' })],
    VpcConfig: { SecurityGroupIds: ['sg-1'], Subnets: ['subnet-a', 'subnet-b'] },
    Tags: [{ Key: 'team', Value: 'language models' }],
  });
  arn = reply.ClusterArn;
  assert.match(arn, /^arn:aws:sagemaker:hp-local-1:000000000000:cluster\/[a-z0-9]{12}$/);
  const seen = new Set();
  await until('in service', async () => {
    const { ClusterStatus } = await describe(arn);
    seen.add(ClusterStatus);
    return ClusterStatus === 'InService';
  }, WAIT_MS);
  assert.ok([...seen].every((s) => ['Creating', 'InService'].includes(s)), [...seen].join());
  await settled('gpu', 2);
  await settled('io', 1);
  const cluster = await describe();
  assert.equal(cluster.FailureMessage, undefined);
  assert.deepEqual([cluster.NodeProvisioningMode, cluster.NodeRecovery, cluster.Orchestrator], ['Continuous', 'Automatic', undefined]);
  assert.deepEqual(cluster.VpcConfig, { SecurityGroupIds: ['sg-1'], Subnets: ['subnet-a', 'subnet-b'] });
  const { Tags } = await client.send(new sdk.ListTagsCommand({ ResourceArn: arn }));
  assert.deepEqual(Tags, [{ Key: 'team', Value: 'language models' }]);
  const g = await group('gpu');
  assert.deepEqual([g.ThreadsPerCore, g.MinCount, g.TargetCount, g.CurrentImageReleaseVersion, g.ImageVersionStatus], [1, 1, 2, '1.0.0', 'UpToDate']);
  const zones = await Promise.all(['gpu-1', 'gpu-2'].map(async (NodeLogicalId) => (await send('DescribeClusterNode', { NodeLogicalId })).NodeDetails.Placement.AvailabilityZone));
  const { body } = await world.call('GET', '/v1/clusters/forge/nodes/gpu-1');
  assert.equal(body.zone, zones[0]);
  assert.deepEqual(zones.sort(), ['hp-local-1a', 'hp-local-1b']);
  await assert.rejects(send('CreateCluster', { InstanceGroups: [spec('gpu', 1)] }), is(sdk.ResourceInUse, /forge/));
});

test('grown and shrunk, while another group keeps its machines', async () => {
  const before = ids(await nodes());
  assert.equal((await send('UpdateCluster', { InstanceGroups: [spec('gpu', 4)] })).ClusterArn, arn);
  await settled('gpu', 4);
  assert.equal((await describe()).ClusterStatus, 'InService');
  const grown = ids(await nodes());
  for (const [name, id] of Object.entries(before)) assert.equal(grown[name], id, name);
  await send('UpdateCluster', { ClusterName: arn, InstanceGroups: [spec('gpu', 2)] });
  await settled('gpu', 2);
  assert.equal(ids(await nodes())['io-1'], before['io-1']);
});

let added;

test('BatchAddClusterNodes names its nodes at once, and again under the same token', async () => {
  const request = { ClientToken: 'once', NodesToAdd: [{ InstanceGroupName: 'gpu', IncrementTargetCountBy: 2 }, { InstanceGroupName: 'none', IncrementTargetCountBy: 3 }, { InstanceGroupName: 'io', IncrementTargetCountBy: 1, InstanceTypes: ['ml.p5.48xlarge'] }, { InstanceGroupName: 'io', IncrementTargetCountBy: 1, AvailabilityZones: ['hp-local-1c'] }] };
  const first = await send('BatchAddClusterNodes', request);
  assert.equal(first.Successful.length, 2);
  assert.ok(first.Successful.every((n) => n.InstanceGroupName === 'gpu' && n.Status === 'Pending' && n.AvailabilityZones.length === 1));
  assert.deepEqual(first.Failed.map((f) => [f.InstanceGroupName, f.ErrorCode, f.FailedCount]), [['none', 'InstanceGroupNotFound', 3], ['io', 'IncompatibleInstanceTypes', 1], ['io', 'IncompatibleAvailabilityZones', 1]]);
  added = first.Successful.map((n) => n.NodeLogicalId);
  await settled('gpu', 4);
  const again = await send('BatchAddClusterNodes', request);
  assert.deepEqual(again.Successful.map((n) => [n.NodeLogicalId, n.Status]), added.map((name) => [name, 'Running']));
  assert.deepEqual(again.Failed, first.Failed);
  assert.equal((await group('gpu')).TargetCount, 4);
  await assert.rejects(send('BatchAddClusterNodes', { ...request, NodesToAdd: [{ InstanceGroupName: 'gpu', IncrementTargetCountBy: 1 }] }), is('ValidationException', /token/));
  await assert.rejects(send('BatchAddClusterNodes', { NodesToAdd: [{ InstanceGroupName: 'gpu', IncrementTargetCountBy: 26 }, { InstanceGroupName: 'io', IncrementTargetCountBy: 25 }] }), is(sdk.ResourceLimitExceeded, /50/));
});

test('BatchReplaceClusterNodes puts another machine into the slot', async () => {
  const before = ids(await nodes())[added[0]];
  const reply = await send('BatchReplaceClusterNodes', { NodeIds: [before] });
  assert.deepEqual([reply.Successful, reply.Failed], [[before], undefined]);
  await until('another machine', async () => ![before, ''].includes(ids(await nodes())[added[0]]), WAIT_MS);
  await settled('gpu', 4);
});

test('a software update rolls through a group', async () => {
  const before = ids(await nodes());
  await send('UpdateClusterSoftware', {
    InstanceGroups: [{ InstanceGroupName: 'gpu', ImageReleaseVersion: '1.1.0' }],
    DeploymentConfig: { RollingUpdatePolicy: { MaximumBatchSize: { Type: 'CAPACITY_PERCENTAGE', Value: 50 } }, WaitIntervalInSeconds: 0 },
  });
  const seen = new Set();
  await until('updated', async () => {
    const g = await group('gpu');
    seen.add(g.SoftwareUpdateStatus);
    if (g.SoftwareUpdateStatus === 'InProgress') assert.deepEqual([g.CurrentImageReleaseVersion, g.DesiredImageReleaseVersion, g.ImageVersionStatus], ['1.0.0', '1.1.0', 'UpdateAvailable']);
    return g.SoftwareUpdateStatus === 'Succeeded';
  }, WAIT_MS);
  assert.ok([...seen].every((s) => ['Pending', 'InProgress', 'Succeeded'].includes(s)), [...seen].join());
  await settled('gpu', 4);
  const list = await nodes();
  for (const n of list) {
    const [release, moved] = n.InstanceGroupName === 'gpu' ? ['1.1.0', true] : ['1.0.0', false];
    assert.deepEqual([n.CurrentImageReleaseVersion, n.ImageVersionStatus, n.InstanceId !== before[n.NodeLogicalId]], [release, 'UpToDate', moved], n.NodeLogicalId);
  }
  assert.equal((await describe()).ClusterStatus, 'InService');
});

test('BatchDeleteClusterNodes takes nodes of either name, and tells of each', async () => {
  const id = ids(await nodes())[added[0]];
  const reply = await send('BatchDeleteClusterNodes', { NodeIds: [id, 'i-01234567'], NodeLogicalIds: [added[1], 'gpu-99'] });
  assert.deepEqual([reply.Successful, reply.SuccessfulNodeLogicalIds], [[id], [added[1]]]);
  assert.deepEqual(reply.Failed.map((f) => [f.NodeId, f.Code, Boolean(f.Message)]), [['i-01234567', 'NodeIdNotFound', true]]);
  assert.deepEqual(reply.FailedNodeLogicalIds.map((f) => [f.NodeLogicalId, f.Code, Boolean(f.Message)]), [['gpu-99', 'NodeIdNotFound', true]]);
  await settled('gpu', 2);
  assert.equal((await group('gpu')).TargetCount, 2);
  await assert.rejects(send('BatchDeleteClusterNodes', {}), is('ValidationException', /At least one/));
  const many = Array.from({ length: 51 }, (_, i) => `gpu-${i + 100}`);
  await assert.rejects(send('BatchDeleteClusterNodes', { NodeLogicalIds: many }), is('ValidationException', /50/));
  const crowd = Array.from({ length: 3000 }, (_, i) => `i-${String(i).padStart(8, '0')}`);
  assert.equal((await send('BatchDeleteClusterNodes', { NodeIds: crowd })).Failed.length, 3000);
});

test('groups come and go beside the others', async () => {
  const before = ids(await nodes());
  await send('UpdateCluster', { InstanceGroups: [spec('late', 1, { InstanceType: 'ml.c5.large' })], InstanceGroupsToDelete: ['io'] });
  await settled('late', 1);
  await until('io is gone', async () => !(await group('io')), WAIT_MS);
  const now = ids(await nodes());
  assert.deepEqual(Object.keys(now).sort(), ['gpu-1', 'gpu-2', 'late-1']);
  assert.deepEqual([now['gpu-1'], now['gpu-2']], [before['gpu-1'], before['gpu-2']]);
});

test('what nothing here can do is refused, for nodes that are there', async () => {
  const { 'gpu-1': NodeId } = ids(await nodes());
  const VolumeId = 'vol-0123456789abcdef0';
  for (const [name, input] of [['AttachClusterNodeVolume', { ClusterArn: arn, VolumeId }], ['DetachClusterNodeVolume', { ClusterArn: arn, VolumeId }], ['AttachClusterNodeNetworkInterface', { NetworkInterfaceId: 'eni-0123456789abcdef0' }]]) {
    await assert.rejects(send(name, { NodeId, ...input }), is('ValidationException', /the provider "local".*cannot/));
    await assert.rejects(send(name, { NodeId: 'i-01234567', ...input }), is(sdk.ResourceNotFound, /i-01234567/));
    await assert.rejects(send(name, { NodeId, ...input, ClusterName: 'nobody', ClusterArn: arn.replace(/.{12}$/, 'abcdefghij12') }), is(sdk.ResourceNotFound));
    await assert.rejects(send(name, {}), is('ValidationException', /nodeId/));
  }
});

test('everything that happened is told, with one kind of details each', async () => {
  const all = await events();
  assert.equal(new Set(all.map((e) => e.EventId)).size, all.length);
  const kinds = new Set();
  for (const e of all.slice(0, 200)) {
    const { EventDetails } = await send('DescribeClusterEvent', { EventId: e.EventId });
    const [kind, ...more] = Object.keys(EventDetails.EventDetails.EventMetadata);
    assert.deepEqual(more, []);
    assert.notEqual(kind, '$unknown');
    kinds.add(kind);
  }
  assert.ok(kinds.has('Cluster') && kinds.has('Instance'), [...kinds].join());
});

test('deleted: Deleting, then gone, with its machines', async () => {
  assert.equal((await send('DeleteCluster', {})).ClusterArn, arn);
  await until('gone', async () => {
    try {
      assert.equal((await describe()).ClusterStatus, 'Deleting');
      return false;
    } catch (error) {
      return is(sdk.ResourceNotFound)(error);
    }
  }, WAIT_MS);
  await until('the machines are off', () => world.machines().length === 0, WAIT_MS);
});

test('all or nothing: in service as a whole, and changed as a whole', async () => {
  await send('CreateCluster', { ClusterName: 'whole', InstanceGroups: [spec('a', 1), spec('b', 1)] });
  const inService = () => until('in service', async () => (await describe('whole')).ClusterStatus === 'InService', WAIT_MS);
  await inService();
  assert.equal((await describe('whole')).NodeProvisioningMode, undefined);
  await assert.rejects(send('BatchAddClusterNodes', { ClusterName: 'whole', NodesToAdd: [{ InstanceGroupName: 'a', IncrementTargetCountBy: 1 }] }), is('ValidationException', /all or nothing/));
  await send('UpdateCluster', { ClusterName: 'whole', InstanceGroups: [spec('a', 2)] });
  assert.equal((await describe('whole')).ClusterStatus, 'Updating');
  await assert.rejects(send('UpdateCluster', { ClusterName: 'whole', InstanceGroups: [spec('a', 3)] }), is(sdk.ConflictException, /updating/));
  await inService();
  assert.equal((await nodes('whole')).length, 3);
  await send('DeleteCluster', { ClusterName: 'whole' });
});

test('a repeated try of one CreateCluster makes one cluster', async () => {
  const twice = await aws(world, 'admin');
  let tries = 0;
  twice.middlewareStack.add((next) => async (args) => {
    const result = await next(args);
    if (tries++ === 0) throw Object.assign(new Error('socket hang up'), { name: 'TimeoutError', code: 'ECONNRESET', $retryable: {}, $metadata: {} });
    return result;
  }, { step: 'finalizeRequest', priority: 'low', name: 'loseFirst' });
  const made = await twice.send(new sdk.CreateClusterCommand({ ClusterName: 'once', InstanceGroups: [spec('a', 0)] }));
  assert.equal(tries, 2);
  assert.equal((await describe('once')).ClusterArn.split('/')[1], made.ClusterArn.split('/')[1]);
  await assert.rejects(twice.send(new sdk.CreateClusterCommand({ ClusterName: 'once', InstanceGroups: [spec('a', 0)] })), is(sdk.ResourceInUse));
  await send('DeleteCluster', { ClusterName: 'once' });
});
