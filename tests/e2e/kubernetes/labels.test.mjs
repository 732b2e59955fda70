// What people want on the nodes of a group, as kubectl, the AWS SDK and hpctl show it; and HyperPod's labels. hpd gets its token from a
// credential plugin here, as on EKS.
import * as sdk from '@aws-sdk/client-sagemaker';
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { HEALTH, HYPERPOD, KubernetesWorld, cannot } from '../lib/kubernetes.mjs';
import { agentPath, agentService, root } from '../lib/programs.mjs';
import { until } from '../lib/world.mjs';

const why = cannot();
const WANTED = { labels: { team: 'vision', 'example.org/tier': 'gold' }, taints: [{ key: 'dedicated', value: 'vision', effect: 'NoSchedule' }] };

class PluginWorld extends KubernetesWorld {
  writeConfig() {
    const token = 'holdfast-token', plugin = join(this.dir, 'plugin');
    const credential = { apiVersion: 'client.authentication.k8s.io/v1', kind: 'ExecCredential', status: { token, expirationTimestamp: '2999-01-01T00:00:00Z' } };
    writeFileSync(plugin, `#!/bin/sh\n[ "$1 $2" = "get token" ] || exit 1\necho run >>"$0.runs"\necho '${JSON.stringify(credential)}'\n`, { mode: 0o755 });
    const exec = `exec: {apiVersion: client.authentication.k8s.io/v1, command: ${plugin}, args: [get, token], interactiveMode: Never}`;
    const file = readFileSync(join(this.kubernetes, 'holdfast.conf'), 'utf8').replace(/client-certificate-data:.*(?=\})/, exec);
    writeFileSync(join(this.kubernetes, 'plugin.conf'), file, { mode: 0o600 });
    this.options.scheduler = { kubeconfig: join(this.kubernetes, 'plugin.conf') };
    super.writeConfig();
  }
}

let world, client;
before(async () => {
  if (why) return;
  world = new PluginWorld({ nodes: 2, cluster: false, config: { checks: { busyWait: '3s', stressTime: '1s' } } });
  const tools = join(world.dir, 'tools'), stress = join(tools, 'stress-ng'); // which lasts until the file go is there
  mkdirSync(tools);
  writeFileSync(stress, `#!/bin/sh\nwhile [ ! -e ${world.dir}/go ]; do sleep 0.1; done\n`, { mode: 0o755 });
  world.options.agent = { ...agentService, command: ['/usr/bin/env', `PATH=${tools}:${process.env.PATH}`, ...agentService.command] };
  await world.start();
  await world.createCluster(spec(WANTED));
  const key = world.json('access-key', 'create', '--name', 'sdk', '--role', 'admin');
  client = new sdk.SageMakerClient({ endpoint: `http://127.0.0.1:${world.port}`, region: 'hp-local-1', credentials: { accessKeyId: key.accessKeyId, secretAccessKey: key.secretAccessKey } });
}, { timeout: 300000 });
const others = [];
after(async () => {
  for (const other of others) other.kill('SIGKILL');
  await world?.end();
});

const spec = (kubernetesConfig) => ({ name: 'demo', nodeRecovery: 'Automatic', instanceGroups: [{ name: 'workers', instanceCount: 2, nodeNames: 'gpu-[1-2]', kubernetesConfig }] });
const apply = (kubernetesConfig) => {
  const file = join(world.dir, 'cluster.yaml');
  writeFileSync(file, JSON.stringify(spec(kubernetesConfig)));
  return world.hpctl('apply', '-f', file, '--yes');
};
const labels = (name) => world.kubeNode(name)?.metadata.labels ?? {};
const taints = (name) => (world.kubeNode(name)?.spec.taints ?? []).map((t) => `${t.key}=${t.value ?? ''}:${t.effect}`);
const group = () => world.json('cluster', 'describe').instanceGroups[0];

test('what a group wants is on its nodes, and is shown as wanted and as current', { skip: why }, async () => {
  for (const name of ['gpu-1', 'gpu-2']) {
    const wanted = { ...WANTED.labels, [`${HYPERPOD}compute-type`]: 'hyperpod', [`${HYPERPOD}cluster-name`]: 'demo', [`${HYPERPOD}instance-group-name`]: 'workers' };
    await until(`${name} has its labels`, () => Object.entries(wanted).every(([key, value]) => labels(name)[key] === value));
    assert.deepEqual(taints(name), ['dedicated=vision:NoSchedule']);
  }
  await until('it is current', () => group().currentKubernetesConfig);
  assert.deepEqual(group().currentKubernetesConfig, WANTED);
  assert.deepEqual(group().kubernetesConfig, WANTED);
  assert.match(world.hpctl('cluster', 'describe').out, /workers: all nodes carry team=vision, example\.org\/tier=gold, dedicated=vision:NoSchedule/);
  const aws = { CurrentLabels: WANTED.labels, CurrentTaints: [{ Key: 'dedicated', Value: 'vision', Effect: 'NoSchedule' }] };
  const shown = { ...aws, DesiredLabels: aws.CurrentLabels, DesiredTaints: aws.CurrentTaints };
  assert.deepEqual((await client.send(new sdk.DescribeClusterCommand({ ClusterName: 'demo' }))).InstanceGroups[0].KubernetesConfig, shown);
  assert.deepEqual((await client.send(new sdk.DescribeClusterNodeCommand({ ClusterName: 'demo', NodeLogicalId: 'gpu-1' }))).NodeDetails.KubernetesConfig, shown);
  assert.ok(readFileSync(join(world.dir, 'plugin.runs'), 'utf8').split('\n').length <= 3, 'the plugin runs when a token is needed, and not for each request');
});

test('what is removed goes, what others have set stays, and that is told', { skip: why }, async () => {
  const object = world.kubeNode('gpu-1').metadata.name;
  world.kubectl('label', 'node', object, 'mine=1', 'owner=ops');
  world.kubectl('taint', 'node', object, 'mine=1:PreferNoSchedule');
  const done = apply({ labels: { team: 'speech', owner: 'vision' } });
  assert.equal(done.code, 0, done.err);
  await until('both nodes have the new label', () => ['gpu-1', 'gpu-2'].every((name) => labels(name).team === 'speech' && labels(name)['example.org/tier'] === undefined));
  await until('the taint of the group is gone', () => !['gpu-1', 'gpu-2'].some((name) => taints(name).some((t) => t.startsWith('dedicated'))));
  assert.equal(labels('gpu-1').owner, 'ops');
  assert.equal(labels('gpu-2').owner, 'vision');
  assert.equal(labels('gpu-1').mine, '1');
  assert.deepEqual(taints('gpu-1'), ['mine=1:PreferNoSchedule']);
  await until('it is told', () => world.events({ node: 'gpu-1', kind: 'scheduler-drift' }).some((e) => /label owner is set to "ops" by somebody else; it stays/.test(e.message)));
  await until('what all nodes have is less than what is wanted', () => JSON.stringify(group().currentKubernetesConfig?.labels) === '{"team":"speech"}');
});

test('a label that is taken away by hand comes back, and so it does on another machine', { skip: why }, async () => {
  const object = world.kubeNode('gpu-2').metadata.name;
  world.kubectl('label', 'node', object, 'team-');
  await until('it is back', () => labels('gpu-2').team === 'speech');
  world.kubectl('label', '--overwrite', 'node', object, `${HEALTH}=UnschedulablePendingReplacement`);
  await world.repaired('gpu-2', 'replace');
  assert.notEqual(world.kubeNode('gpu-2').metadata.name, object);
  await until('the other machine has it', () => labels('gpu-2').team === 'speech' && labels('gpu-2')[`${HYPERPOD}cluster-name`] === 'demo');
});

test('a switch that people name is a label that Kubernetes takes, and does not come back as another name', { skip: why }, async () => {
  const patched = await fetch(`${world.url}/v1/clusters/demo/nodes/gpu-1`, { method: 'PATCH', headers: { authorization: `Bearer ${world.token}`, 'content-type': 'application/json' }, body: JSON.stringify({ topology: { switch: 'row2/leaf:7' } }) });
  assert.equal(patched.status, 200, await patched.text());
  await until('it is a label', () => labels('gpu-1')['topology.k8s.aws/network-node-layer-3'] === 'row2-leaf-7');
  await world.looks(3);
  assert.equal(world.node('gpu-1').switch, 'row2/leaf:7');
});

test('a deep health check is a label while it goes on, and says what came of it', { skip: why }, async () => {
  const status = () => labels('gpu-1')[`${HYPERPOD}deep-health-check-status`];
  assert.equal(status(), undefined);
  const [{ id }] = world.json('check', 'start', '--nodes', 'gpu-1', '--quick').checks;
  await until('it is in progress, and takes no work', () => status() === 'InProgress' && world.health('gpu-1') === 'Unschedulable' && world.kubeNode('gpu-1').spec.unschedulable);
  writeFileSync(join(world.dir, 'go'), '');
  await until('it has passed', () => world.json('check', 'describe', id).state === 'passed');
  await until('its label says so', () => status() === 'Passed' && world.isSchedulable('gpu-1'));
});

test('keys that others write are refused by name', { skip: why }, () => {
  const refused = apply({ labels: { [HEALTH]: 'Schedulable' } });
  assert.notEqual(refused.code, 0);
  assert.match(refused.err, /The group "workers" has the label "sagemaker\.amazonaws\.com\/node-health-status"/);
});

test('nodes that are there become groups of a file, by node group and by node pool, and apply takes it', { skip: why }, async () => {
  const nodes = { 'ip-10-0-0-1': 'eks.amazonaws.com/nodegroup=gpu_pool', 'ip-10-0-0-2': 'eks.amazonaws.com/nodegroup=gpu_pool', 'ip-10-0-0-3': 'karpenter.sh/nodepool=burst' };
  for (const [name, label] of Object.entries(nodes)) others.push(spawn(join(root, 'tests/support/kubernetes-node'), [world.kubernetes, name, '--label', label], { stdio: 'ignore' }));
  await until('they are seen', () => world.json('scheduler', 'list')[0].unassignedCount === 3, 30000);
  const found = world.hpctl('scheduler', 'discover', 'adopted');
  assert.equal(found.code, 0, found.err);
  const file = join(world.dir, 'adopted.yaml');
  writeFileSync(file, found.out);
  const applied = world.hpctl('apply', '-f', file, '--yes');
  assert.equal(applied.code, 0, applied.err);
  const { instanceGroups } = world.json('cluster', 'describe', 'adopted');
  assert.deepEqual(instanceGroups.map((g) => [g.name, g.instanceCount, g.nodesFrom]).sort(), [['burst', 1, { partition: 'burst' }], ['gpu-pool', 2, { partition: 'gpu_pool' }]]);
  assert.deepEqual(world.json('node', 'list', '--cluster', 'adopted').map((n) => n.name).sort(), Object.keys(nodes));
  // An agent that enrols makes the node one of the cluster's.
  const name = 'ip-10-0-0-1', at = join(world.dir, name);
  const token = world.json('token', 'create', '--cluster', 'adopted', '--enrollment', '--node', name).secret;
  mkdirSync(at);
  const put = (file, text) => {
    writeFileSync(join(at, file), text, { mode: 0o600 });
    return join(at, file);
  };
  const files = ['--token-file', put('token', token), '--kmsg', put('kmsg', 'Linux version 6.1.0-test\n'), '--boot-id-file', put('boot_id', 'one\n')];
  others.push(spawn(agentPath, ['--server', world.url, '--state-dir', join(at, 'agent'), '--instance-id', 'i-7', '--checks', 'none', ...files], { stdio: 'ignore' }));
  await until('it is in service', () => world.json('node', 'describe', '--cluster', 'adopted', name).state === 'ready');
  await until('its labels say whose it is', () => {
    const node = world.kubeNodes().find((n) => n.metadata.name === name);
    return node.metadata.labels[`${HYPERPOD}cluster-name`] === 'adopted' && node.metadata.labels[`${HYPERPOD}instance-group-name`] === 'gpu-pool' && !node.spec.unschedulable;
  });
  await world.looks(3);
  assert.deepEqual(world.events({ kind: 'scheduler-drift' }).filter((e) => /partition|nodesFrom/.test(e.message)), []);
});
