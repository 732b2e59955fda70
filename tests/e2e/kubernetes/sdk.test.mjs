// A cluster on a real Kubernetes from the AWS SDK alone: Orchestrator.Eks names the scheduler by the ARN that hpd's configuration has for it.
import * as sdk from '@aws-sdk/client-sagemaker';
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { HEALTH, KubernetesWorld, cannot } from '../lib/kubernetes.mjs';
import { until } from '../lib/world.mjs';

const why = cannot();
const ClusterName = 'anvil';
const ARN = 'arn:aws:eks:us-west-2:000000000000:cluster/prod';
const WAIT_MS = 240000;
let world, client;
before(async () => {
  if (why) return;
  world = await new KubernetesWorld({ nodes: 2, cluster: false, scheduler: { eksClusterArn: ARN } }).start();
  const key = world.json('access-key', 'create', '--name', 'sdk', '--role', 'admin');
  client = new sdk.SageMakerClient({ endpoint: `http://127.0.0.1:${world.port}`, region: 'hp-local-1', credentials: { accessKeyId: key.accessKeyId, secretAccessKey: key.secretAccessKey } });
}, { timeout: 300000 });
after(() => world?.end());

const send = (name, input) => client.send(new sdk[`${name}Command`]({ ClusterName, ...input }));
const create = (ClusterArn) => send('CreateCluster', {
  Orchestrator: { Eks: { ClusterArn } },
  InstanceGroups: [{ InstanceGroupName: 'workers', InstanceCount: 2, InstanceType: 'ml.p5.48xlarge', ExecutionRole: 'arn:aws:iam::000000000000:role/node' }],
});
const operation = (node, kind) => world.json('operation', 'list', '--cluster', ClusterName).find((o) => o.node === node && o.kind === kind);
const kubeNode = (name) => world.kubeNodes().filter((n) => n.metadata.labels['holdfast/node'] === name);

test('an ARN that no scheduler has is refused, and says which there are', { skip: why }, async () => {
  await assert.rejects(create('arn:aws:eks:us-west-2:000000000000:cluster/other'), (error) =>
    error.name === 'ValidationException' && /no scheduler in hpd's configuration has the eksClusterArn .*cluster\/other\. Those that it has: .*cluster\/prod\./.test(error.message));
});

test('from Creating to InService: the nodes are Schedulable in Kubernetes, and the ARN is shown again', { skip: why }, async () => {
  await create(ARN);
  const cluster = await until('in service', async () => {
    const now = await send('DescribeCluster', {});
    return now.ClusterStatus === 'InService' && now;
  }, WAIT_MS);
  assert.deepEqual(cluster.Orchestrator, { Eks: { ClusterArn: ARN } });
  assert.deepEqual(cluster.InstanceGroups.map((g) => [g.InstanceGroupName, g.CurrentCount, g.Status]), [['workers', 2, 'InService']]);
  await until('two Schedulable nodes', () => world.kubeNodes().filter((n) => n.metadata.labels[HEALTH] === 'Schedulable' && !n.spec.unschedulable).length === 2, WAIT_MS);
  const { ClusterNodeSummaries } = await send('ListClusterNodes', {});
  assert.deepEqual(ClusterNodeSummaries.map((n) => n.InstanceStatus.Status), ['Running', 'Running']);
});

test('another ARN is no update', { skip: why }, async () => {
  await assert.rejects(send('UpdateCluster', { Orchestrator: { Eks: { ClusterArn: 'arn:aws:eks:us-west-2:000000000000:cluster/other' } } }), /the cluster's scheduler is another one/);
});

test('a node is rebooted and replaced from the SDK', { skip: why }, async () => {
  const [name] = (await send('ListClusterNodes', { IncludeNodeLogicalIds: true })).ClusterNodeSummaries.map((n) => n.NodeLogicalId).sort();
  const [{ metadata: { name: before } }] = kubeNode(name);
  assert.deepEqual((await send('BatchRebootClusterNodes', { NodeLogicalIds: [name] })).SuccessfulNodeLogicalIds, [name]);
  await until('it is rebooted', () => operation(name, 'reboot')?.state === 'succeeded', WAIT_MS);
  assert.deepEqual(kubeNode(name).map((n) => n.metadata.name), [before]);
  await until('it can be replaced', async () => (await send('BatchReplaceClusterNodes', { NodeLogicalIds: [name] })).SuccessfulNodeLogicalIds?.length === 1, WAIT_MS);
  await until('it is replaced', () => operation(name, 'replace')?.state === 'succeeded', WAIT_MS);
  await until('Kubernetes has the new machine only', () => {
    const now = kubeNode(name);
    return now.length === 1 && now[0].metadata.name !== before && now[0].metadata.labels[HEALTH] === 'Schedulable';
  }, WAIT_MS);
});
