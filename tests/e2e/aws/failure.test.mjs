// Clusters that do not come to be, through the real AWS SDK: what fails is taken back, says why, and leaves nothing running. The
// machines run no agent: the test speaks for those that shall live.
import * as sdk from '@aws-sdk/client-sagemaker';
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { aws } from '../lib/aws.mjs';
import { Local, Speaker } from '../lib/local.mjs';
import { until } from '../lib/world.mjs';

const world = new Local({ speakers: true, recovery: { joinDeadline: '6s', minCountDeadline: '12s', launchPauseMin: '500ms', launchPauseMax: '1s' } });
const WAIT_MS = 180000;
const speakers = [];
let client;

before(async () => {
  await world.start();
  client = await aws(world, 'admin');
});
after(async () => {
  speakers.forEach((s) => s.stop());
  await world.end();
});

const send = (name, input) => client.send(new sdk[`${name}Command`](input));
const describe = (ClusterName) => send('DescribeCluster', { ClusterName });
const spec = (InstanceGroupName, InstanceCount, more = {}) => ({
  InstanceGroupName, InstanceCount, InstanceType: 'ml.p5.48xlarge', ExecutionRole: 'arn:aws:iam::000000000000:role/node', ...more,
});
const nodes = async (ClusterName) => (await send('ListClusterNodes', { ClusterName, IncludeNodeLogicalIds: true })).ClusterNodeSummaries;

// The words that a cluster's status goes through until it is the last one.
async function through(ClusterName, last) {
  const seen = [];
  const cluster = await until(`${ClusterName} is ${last}`, async () => {
    const now = await describe(ClusterName);
    if (seen.at(-1) !== now.ClusterStatus) seen.push(now.ClusterStatus);
    return now.ClusterStatus === last && now;
  }, WAIT_MS);
  return { seen, cluster };
}

// The test lives in the nodes of this cluster from now on, whatever machines they get.
async function speakFor(cluster, ...names) {
  for (const name of names) {
    const { NodeDetails } = await until(`${name} has a machine`, async () => {
      const reply = await send('DescribeClusterNode', { ClusterName: cluster, NodeLogicalId: name });
      return reply.NodeDetails.InstanceId && world.file(reply.NodeDetails.InstanceId, 'token') && world.file(reply.NodeDetails.InstanceId, 'boot_id') && reply;
    }, WAIT_MS);
    const speaker = new Speaker(world, name);
    speaker.instanceId = NodeDetails.InstanceId;
    speaker.bootId = world.file(speaker.instanceId, 'boot_id');
    const { status, body } = await world.call('POST', '/v1/agent/enroll', { node: name, instanceId: speaker.instanceId, bootId: speaker.bootId }, { token: world.file(speaker.instanceId, 'token') });
    assert.equal(status, 200, JSON.stringify(body));
    speaker.credential = body.credential;
    speakers.push(speaker.speak());
  }
}

test('all or nothing: a creation whose machines do not report is taken back, and says why', async () => {
  await send('CreateCluster', { ClusterName: 'lost', InstanceGroups: [spec('a', 2)] });
  const { seen, cluster } = await through('lost', 'Failed');
  assert.ok(seen.every((s) => ['Creating', 'RollingBack', 'Failed'].includes(s)), seen.join());
  assert.ok(cluster.FailureMessage, JSON.stringify(cluster));
  await until('nothing of it is left', async () => (await nodes('lost')).length === 0, WAIT_MS);
  await until('its machines are off', () => world.machines().length === 0, WAIT_MS);
  const { Events } = await send('ListClusterEvents', { ClusterName: 'lost' });
  const failures = [];
  for (const { EventId } of Events.filter((e) => e.EventLevel === 'Error')) {
    const { EventDetails } = await send('DescribeClusterEvent', { ClusterName: 'lost', EventId });
    const [[, details], ...more] = Object.entries(EventDetails.EventDetails.EventMetadata);
    assert.deepEqual(more, []);
    failures.push(details.FailureMessage);
  }
  assert.ok(failures.length > 0 && failures.every(Boolean), JSON.stringify(failures));
  await assert.rejects(send('UpdateCluster', { ClusterName: 'lost', InstanceGroups: [spec('a', 1)] }), (e) => e instanceof sdk.ConflictException);
  await assert.rejects(send('UpdateClusterSoftware', { ClusterName: 'lost' }), (e) => e instanceof sdk.ConflictException);
  await send('DeleteCluster', { ClusterName: 'lost' });
  await until('gone', () => describe('lost').then(() => false, (e) => e instanceof sdk.ResourceNotFound), WAIT_MS);
});

test('all or nothing: an update that fails leaves the cluster as it was', async () => {
  await send('CreateCluster', { ClusterName: 'kept', InstanceGroups: [spec('a', 1)] });
  await speakFor('kept', 'a-1');
  await through('kept', 'InService');
  const [before] = await nodes('kept');
  await send('UpdateCluster', { ClusterName: 'kept', InstanceGroups: [spec('a', 2), spec('b', 1)] });
  const { seen, cluster } = await through('kept', 'InService');
  assert.ok(seen.every((s) => ['Updating', 'RollingBack', 'InService'].includes(s)), seen.join());
  await until('as it was', async () => {
    const { InstanceGroups } = await describe('kept');
    return InstanceGroups.length === 1 && InstanceGroups[0].TargetCount === 1 && (await nodes('kept')).length === 1;
  }, WAIT_MS);
  assert.ok(cluster.FailureMessage, JSON.stringify(cluster));
  const [now] = await nodes('kept');
  assert.deepEqual([now.NodeLogicalId, now.InstanceId], ['a-1', before.InstanceId]);
  await send('DeleteCluster', { ClusterName: 'kept' });
});

test('continuous: a new group that does not reach its minimum goes back to nothing, the cluster stays', async () => {
  await send('CreateCluster', { ClusterName: 'flows', NodeProvisioningMode: 'Continuous', InstanceGroups: [spec('a', 1)] });
  await speakFor('flows', 'a-1');
  await through('flows', 'InService');
  await send('UpdateCluster', { ClusterName: 'flows', InstanceGroups: [spec('b', 2, { MinInstanceCount: 1 })] });
  const group = await until('b is taken back', async () => {
    const { ClusterStatus, InstanceGroups } = await describe('flows');
    assert.equal(ClusterStatus, 'InService');
    const b = InstanceGroups.find((g) => g.InstanceGroupName === 'b');
    return b.TargetCount === 0 && b;
  }, WAIT_MS);
  assert.ok(['Failed', 'InService', 'Degraded'].includes(group.Status), group.Status);
  await until('its nodes are gone', async () => (await nodes('flows')).length === 1, WAIT_MS);
  await send('DeleteCluster', { ClusterName: 'flows' });
});
