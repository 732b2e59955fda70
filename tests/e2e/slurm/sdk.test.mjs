// A cluster on a real Slurm from the AWS SDK alone: its compute nodes are Slurm's, its controller and login are not.
import * as sdk from '@aws-sdk/client-sagemaker';
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { World, until } from '../lib/world.mjs';

let world, client;
before(async () => {
  world = await new World({ cluster: false }).start();
  const key = world.json('access-key', 'create', '--name', 'sdk', '--role', 'admin');
  client = new sdk.SageMakerClient({ endpoint: `http://127.0.0.1:${world.port}`, region: 'hp-local-1', credentials: { accessKeyId: key.accessKeyId, secretAccessKey: key.secretAccessKey } });
});
after(() => world?.end());

const ClusterName = 'anvil';
const WAIT_MS = 240000;
const send = (name, input) => client.send(new sdk[`${name}Command`]({ ClusterName, ...input }));
const spec = (InstanceGroupName, InstanceCount, NodeType, more = {}) => ({
  InstanceGroupName, InstanceCount, InstanceType: 'ml.p5.48xlarge', ExecutionRole: 'arn:aws:iam::000000000000:role/node', SlurmConfig: { NodeType, ...more },
});

test('from Creating to InService with a controller, a login and compute nodes', async () => {
  await send('CreateCluster', {
    Orchestrator: { Slurm: {} },
    InstanceGroups: [spec('head', 1, 'Controller'), spec('API', 1, 'Login'), spec('gpu', 4, 'Compute', { PartitionNames: ['train'] })],
  });
  const cluster = await until('in service', async () => {
    const now = await send('DescribeCluster', {});
    return now.ClusterStatus === 'InService' && now;
  }, WAIT_MS);
  assert.deepEqual(cluster.Orchestrator, { Slurm: {} });
  assert.deepEqual(cluster.InstanceGroups.map((g) => [g.InstanceGroupName, g.CurrentCount, g.Status, g.SlurmConfig]), [
    ['head', 1, 'InService', { NodeType: 'Controller' }],
    ['API', 1, 'InService', { NodeType: 'Login' }],
    ['gpu', 4, 'InService', { NodeType: 'Compute', PartitionNames: ['train'] }],
  ]);
  await until('four idle nodes in Slurm', () => world.states().filter((s) => s === 'idle').length === 4);
});

test('jobs run on the nodes; a controller is neither deleted nor replaced on its own', async () => {
  assert.match(world.slurmRun('srun', '-N2', 'true'), /^$/);
  const removed = await send('BatchDeleteClusterNodes', { NodeLogicalIds: ['head-1'] });
  assert.deepEqual(removed.FailedNodeLogicalIds.map((f) => [f.NodeLogicalId, f.Code]), [['head-1', 'InvalidNodeStatus']]);
  const replaced = await send('BatchReplaceClusterNodes', { NodeLogicalIds: ['head-1'] });
  assert.deepEqual(replaced.FailedNodeLogicalIds.map((f) => [f.NodeLogicalId, f.ErrorCode]), [['head-1', 'InvalidInstanceStatus']]);
});

test('a login that is rebooted comes back without Slurm', async () => {
  assert.deepEqual((await send('BatchRebootClusterNodes', { NodeLogicalIds: ['API-1'] })).SuccessfulNodeLogicalIds, ['API-1']);
  await until('API-1 runs again', async () => {
    const [last] = world.json('operation', 'list', '--cluster', ClusterName).filter((o) => o.node === 'API-1' && o.kind === 'reboot');
    return last?.state === 'succeeded' && (await send('DescribeClusterNode', { NodeLogicalId: 'API-1' })).NodeDetails.InstanceStatus.Status === 'Running';
  }, WAIT_MS);
});

test('deleted, with all of its machines', async () => {
  await send('DeleteCluster', {});
  await until('gone', () => send('DescribeCluster', {}).then(() => false, (error) => error instanceof sdk.ResourceNotFound), WAIT_MS);
});
