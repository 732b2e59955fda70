// Nodes through the real AWS SDK, on machines of the local provider with real agents: lists while nodes are replaced,
// descriptions by both ids, and batches that reboot and replace.
import * as sdk from '@aws-sdk/client-sagemaker';
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { aws } from '../lib/aws.mjs';
import { Local } from '../lib/local.mjs';
import { until } from '../lib/world.mjs';

const world = new Local();
const COUNT = 6;
const ClusterName = 'demo';
let client;

before(async () => {
  await world.start();
  await world.create(COUNT);
  await world.ready();
  client = await aws(world, 'operator');
});
after(() => world.end());

const nodes = async (input = {}) => (await client.send(new sdk.ListClusterNodesCommand({ ClusterName, ...input }))).ClusterNodeSummaries;
const logical = async (input = {}) => (await nodes({ IncludeNodeLogicalIds: true, ...input })).map((n) => n.NodeLogicalId);
const describe = async (input) => (await client.send(new sdk.DescribeClusterNodeCommand({ ClusterName, ...input }))).NodeDetails;
const reboot = (input) => client.send(new sdk.BatchRebootClusterNodesCommand({ ClusterName, ...input }));
const replace = (input) => client.send(new sdk.BatchReplaceClusterNodesCommand({ ClusterName, ...input }));
const is = (type, pattern = /./) => (error) => {
  if (typeof type === 'string') assert.equal(error.name, type, error.message);
  else assert.ok(error instanceof type, `${error.name}: ${error.message}`);
  assert.match(error.message, pattern);
  return true;
};
const all = Array.from({ length: COUNT }, (_, i) => `w-${i + 1}`);

test('ListClusterNodes: what runs, in order, filtered and refused', async () => {
  const { ClusterStatus, InstanceGroups } = await client.send(new sdk.DescribeClusterCommand({ ClusterName }));
  assert.equal(ClusterStatus, 'InService');
  assert.deepEqual(InstanceGroups, [{ InstanceGroupName: 'w', InstanceType: 'local', CurrentCount: COUNT, TargetCount: COUNT, Status: 'InService' }]);
  const list = await nodes();
  assert.equal(list.length, COUNT);
  for (const n of list) {
    assert.match(n.InstanceId, /^i-[0-9a-f]{17}$/);
    assert.equal(n.NodeLogicalId, undefined); // only when asked for
    assert.deepEqual([n.InstanceGroupName, n.InstanceType, n.InstanceStatus], ['w', 'local', { Status: 'Running' }]);
    assert.ok(Math.abs(n.LaunchTime - Date.now()) < 600000);
  }
  assert.deepEqual(await logical({ SortBy: 'NAME', SortOrder: 'Descending' }), [...all].reverse());
  assert.deepEqual(await logical({ SortOrder: 'Descending' }), [...all].reverse());
  assert.equal((await nodes({ InstanceGroupNameContains: 'w' })).length, COUNT);
  assert.equal((await nodes({ InstanceGroupNameContains: 'x' })).length, 0);
  assert.equal((await nodes({ CreationTimeAfter: new Date(Date.now() + 1000) })).length, 0);
  assert.equal((await nodes({ CreationTimeBefore: new Date(Date.now() + 1000) })).length, COUNT);
  for (const input of [{ MaxResults: 0 }, { SortBy: 'ID' }, { InstanceGroupNameContains: '-' }, { NextToken: 'x' }])
    await assert.rejects(nodes(input), is('ValidationException'), JSON.stringify(input));
});

test('DescribeClusterNode by either id, and by exactly one', async () => {
  const one = await describe({ NodeLogicalId: 'w-2' });
  assert.deepEqual([one.NodeLogicalId, one.InstanceGroupName, one.InstanceStatus.Status], ['w-2', 'w', 'Running']);
  assert.deepEqual(await describe({ NodeId: one.InstanceId }), one);
  await assert.rejects(describe({}), is('ValidationException', /Exactly one/));
  await assert.rejects(describe({ NodeId: one.InstanceId, NodeLogicalId: 'w-2' }), is('ValidationException', /Exactly one/));
  await assert.rejects(describe({ NodeId: 'w-2' }), is('ValidationException', /'nodeId'/));
  await assert.rejects(describe({ NodeId: 'i-01234567' }), is(sdk.ResourceNotFound));
  await assert.rejects(describe({ NodeLogicalId: 'w-99' }), is(sdk.ResourceNotFound));
  await assert.rejects(describe({ NodeLogicalId: 'w'.repeat(128) }), is(sdk.ResourceNotFound));
});

const operations = async (node, kind) => (await world.repairs(node)).filter((o) => o.kind === kind);
const running = (...names) =>
  until(`${names} run again`, async () => {
    const states = await Promise.all(names.map((NodeLogicalId) => describe({ NodeLogicalId })));
    return states.every((n) => n.InstanceStatus.Status === 'Running');
  });

test('BatchRebootClusterNodes answers for each node', async () => {
  const { InstanceId } = await describe({ NodeLogicalId: 'w-1' });
  const reply = await reboot({ NodeIds: [InstanceId, 'i-01234567'], NodeLogicalIds: ['w-2', 'w-99', 'w'.repeat(100)] });
  assert.deepEqual(reply.Successful, [InstanceId]);
  assert.deepEqual(reply.SuccessfulNodeLogicalIds, ['w-2']);
  assert.deepEqual(reply.Failed.map((f) => [f.NodeId, f.ErrorCode]), [['i-01234567', 'InstanceIdNotFound']]);
  assert.deepEqual(reply.FailedNodeLogicalIds.map((f) => [f.NodeLogicalId, f.ErrorCode]), [['w-99', 'InstanceIdNotFound'], ['w'.repeat(100), 'InstanceIdNotFound']]);
  assert.ok([...reply.Failed, ...reply.FailedNodeLogicalIds].every((f) => f.Message));
  const again = await reboot({ NodeLogicalIds: ['w-1', 'w-2'] }); // under way
  assert.equal(again.SuccessfulNodeLogicalIds, undefined);
  assert.deepEqual(again.FailedNodeLogicalIds.map((f) => f.ErrorCode), ['InstanceIdInUse', 'InstanceIdInUse']);
  await running('w-1', 'w-2');
  assert.equal((await describe({ NodeLogicalId: 'w-1' })).InstanceId, InstanceId);
  assert.deepEqual([(await operations('w-1', 'reboot')).length, (await operations('w-2', 'reboot')).length], [1, 1]);
  const [operation] = await operations('w-1', 'reboot');
  assert.match(operation.actor, /^key:operator-/);
});

test('a repeated try of one request starts nothing twice', async () => {
  const twice = await aws(world, 'operator');
  // The answer to the first try is lost on its way.
  let lost = 0;
  twice.middlewareStack.add((next) => async (args) => {
    const result = await next(args);
    if (lost++ === 0) throw Object.assign(new Error('socket hang up'), { name: 'TimeoutError', code: 'ECONNRESET', $retryable: {}, $metadata: {} });
    return result;
  }, { step: 'finalizeRequest', priority: 'low', name: 'loseFirst' });
  const reply = await twice.send(new sdk.BatchRebootClusterNodesCommand({ ClusterName, NodeLogicalIds: ['w-3'] }));
  assert.equal(lost, 2);
  assert.deepEqual([reply.SuccessfulNodeLogicalIds, reply.FailedNodeLogicalIds], [['w-3'], undefined]);
  await running('w-3');
  assert.equal((await operations('w-3', 'reboot')).length, 1);
});

test('BatchReplaceClusterNodes puts another instance into the slot, while a paginator walks on', async () => {
  const before = Object.fromEntries((await nodes({ IncludeNodeLogicalIds: true })).map((n) => [n.NodeLogicalId, n.InstanceId]));
  const seen = [];
  let replaced;
  for await (const page of sdk.paginateListClusterNodes({ client, pageSize: 1 }, { ClusterName, IncludeNodeLogicalIds: true })) {
    seen.push(...page.ClusterNodeSummaries.map((n) => n.NodeLogicalId));
    if (seen.length === 1) {
      replaced = await replace({ NodeIds: [before['w-1'], before['w-4']] });
      await until('another instance', async () => ![before['w-1'], ''].includes((await describe({ NodeLogicalId: 'w-1' })).InstanceId ?? ''));
    }
  }
  assert.deepEqual(replaced.Successful, [before['w-1'], before['w-4']]);
  assert.deepEqual(seen, all); // each once, though two of them changed
  await running('w-1', 'w-4');
  for (const name of ['w-1', 'w-4']) {
    const now = await describe({ NodeLogicalId: name });
    assert.notEqual(now.InstanceId, before[name]);
    await assert.rejects(describe({ NodeId: before[name] }), is(sdk.ResourceNotFound));
    assert.equal((await describe({ NodeId: now.InstanceId })).NodeLogicalId, name);
  }
  const { Events } = await client.send(new sdk.ListClusterEventsCommand({ ClusterName, NodeId: before['w-1'], ResourceType: 'Instance' }));
  assert.ok(Events.length > 0 && Events.every((e) => e.InstanceId === before['w-1']));
});

test('batches have limits, and need something to do', async () => {
  for (const call of [reboot, replace]) {
    await assert.rejects(call({}), is('ValidationException', /At least one/));
    await assert.rejects(call({ NodeIds: [] }), is('ValidationException', /'nodeIds'/));
    await assert.rejects(call({ NodeIds: ['w-1'] }), is('ValidationException', /nodeIds\.1\.member/));
    const ids = Array.from({ length: 26 }, (_, i) => `i-${String(i).padStart(8, '0')}`);
    await assert.rejects(call({ NodeIds: ids }), is('ValidationException', /'nodeIds'.*less than or equal to 25/));
    assert.equal((await call({ NodeIds: ids.slice(1) })).Failed.length, 25);
  }
});

test('a node without an instance is listed only when logical ids are asked for', async () => {
  const made = await world.call('POST', '/v1/clusters', { name: 'empty', orchestrator: 'none', instanceGroups: [{ name: 'gpu', instanceCount: 2, provider: 'manual' }] });
  assert.equal(made.status, 201);
  assert.deepEqual(await nodes({ ClusterName: 'empty' }), []);
  const pending = await nodes({ ClusterName: 'empty', IncludeNodeLogicalIds: true });
  assert.deepEqual(pending.map((n) => [n.NodeLogicalId, n.InstanceId, n.InstanceStatus.Status]), [['gpu-1', '', 'Pending'], ['gpu-2', '', 'Pending']]);
});
