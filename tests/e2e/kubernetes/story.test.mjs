// hpd in the cluster, by the service account of packaging/kubernetes and with its rights alone. A node's whole way: a line of its kernel log, the taint and labels of HyperPod, its pods evicted, the machine rebooted or
// replaced, and Schedulable again, as kubectl shows it.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { HEALTH, HYPERPOD, KubernetesWorld, cannot } from '../lib/kubernetes.mjs';
import { root } from '../lib/programs.mjs';
import { FELL_OFF, until } from '../lib/world.mjs';

const why = cannot();
let world;
before(async () => {
  if (!why) world = await new KubernetesWorld({ inCluster: true }).start();
}, { timeout: 300000 });
after(() => world?.end());

const deployment = (name, replicas, more = {}) => ({
  apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name, namespace: 'default' },
  spec: { replicas, selector: { matchLabels: { app: name } }, template: { metadata: { labels: { app: name } }, spec: { containers: [{ name: 'c', image: 'none' }], terminationGracePeriodSeconds: 1, ...more } } } });
const podsOf = (node) => JSON.parse(world.kubectl('get', 'pods', '-n', 'default', '-o', 'json', '--field-selector', `spec.nodeName=${node}`)).items;
const objectOf = (name) => world.kubeNode(name).metadata.name;

test('the scheduler is shown with its version and its nodes', { skip: why }, async () => {
  const kube = await until('its nodes are known', () => {
    const [now] = world.json('scheduler', 'list');
    return now.nodeCount === 3 && now;
  });
  assert.equal(kube.kind, 'kubernetes');
  assert.equal(kube.state, 'up');
  assert.match(kube.transport, /^Kubernetes v1\.\d+\.\d+ at https:/);
});

test('a GPU falls off the bus: pods leave, the machine is rebooted, and the node is Schedulable again', { skip: why }, async () => {
  const object = objectOf('gpu-1');
  world.apply(deployment('web', 1, { nodeName: undefined, nodeSelector: { 'kubernetes.io/hostname': object } }));
  await until('the pod runs', () => podsOf(object).some((p) => p.status.phase === 'Running'));
  await until('its job is listed', () => world.json('job', 'list').some((j) => /^default\/web-/.test(j.id) && j.nodes === 'gpu-1'));
  const figures = await (await fetch(`${world.url}/metrics`, { headers: { authorization: `Bearer ${world.token}` } })).text();
  assert.match(figures, /^hyperpod_node_health_status_schedulable 3$/m);
  const seen = new Set();
  world.kernel('gpu-1', FELL_OFF);
  await until('it is out for a reboot', () => {
    const node = world.kubeNode('gpu-1');
    seen.add(node.metadata.labels[HEALTH]);
    return node.metadata.labels[HEALTH] === 'UnschedulablePendingReboot' && node.spec.unschedulable && node.spec.taints.some((t) => t.key === HEALTH && t.value === 'Unschedulable' && t.effect === 'NoSchedule');
  });
  await until('the pod was evicted and waits for the node', () => podsOf(object).length === 0);
  await world.repaired('gpu-1', 'reboot');
  assert.equal(objectOf('gpu-1'), object);
  await until('the pod runs again', () => podsOf(object).some((p) => p.status.phase === 'Running'));
  world.kubectl('delete', 'deployment', 'web');
});

test('the token of the service account is rotated, and nothing is noticed', { skip: why }, async () => {
  world.rotateToken();
  await world.looks(2);
  assert.equal(world.json('scheduler', 'list')[0].state, 'up');
});

test('a label by hand replaces the machine: the node has another name, and the old one is gone', { skip: why }, async () => {
  const old = objectOf('gpu-2');
  world.kubectl('label', '--overwrite', 'node', old, `${HEALTH}=UnschedulablePendingReplacement`);
  await world.repaired('gpu-2', 'replace');
  assert.notEqual(objectOf('gpu-2'), old);
  await until('the node of the old machine is gone', () => !world.kubeNodes().some((n) => n.metadata.name === old));
});

test('a disruption budget is respected until its time is over', { skip: why }, async () => {
  const object = objectOf('gpu-2');
  world.apply(deployment('kept', 1, { nodeSelector: { 'kubernetes.io/hostname': object } }),
    { apiVersion: 'policy/v1', kind: 'PodDisruptionBudget', metadata: { name: 'kept', namespace: 'default' }, spec: { minAvailable: 1, selector: { matchLabels: { app: 'kept' } } } });
  await until('the pod runs', () => podsOf(object).some((p) => p.status.phase === 'Running'));
  const [{ metadata: { uid } }] = podsOf(object);
  world.kernel('gpu-2', FELL_OFF);
  const jobs = () => world.events({ node: 'gpu-2', kind: 'jobs' }).map((e) => e.text ?? e.message ?? JSON.stringify(e));
  await until('its eviction was asked for', () => jobs().some((text) => /requeued or ended at once: default\/kept-/.test(text)));
  assert.equal(podsOf(object)[0]?.metadata.uid, uid);
  await world.repaired('gpu-2', 'reboot');
  assert.ok(jobs().some((text) => /in spite of their disruption budget/.test(text)), JSON.stringify(jobs()));
  assert.ok(!podsOf(object).some((p) => p.metadata.uid === uid));
  world.kubectl('delete', 'deployment,pdb', 'kept');
});

test('a cordon of a person is left alone, and the fault waits', { skip: why }, async () => {
  const object = objectOf('gpu-3');
  world.kubectl('cordon', object);
  await world.looks(3);
  world.kernel('gpu-3', FELL_OFF);
  await until('the fault is known', () => world.node('gpu-3').health !== 'healthy');
  await world.looks(4);
  const node = world.kubeNode('gpu-3');
  assert.equal(node.spec.unschedulable, true);
  assert.deepEqual((node.spec.taints ?? []).filter((t) => t.key === HEALTH), []);
  world.kubectl('uncordon', object);
  await world.repaired('gpu-3', 'reboot');
});

// Kubeflow's operator is not here, so nobody makes the pods anew.
test('a PyTorchJob that asks for it is restarted as a whole when one of its nodes is drained', { skip: why }, async () => {
  const versions = [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } } }];
  world.apply({ apiVersion: 'apiextensions.k8s.io/v1', kind: 'CustomResourceDefinition', metadata: { name: 'pytorchjobs.kubeflow.org' }, spec: { group: 'kubeflow.org', scope: 'Namespaced', names: { kind: 'PyTorchJob', plural: 'pytorchjobs', singular: 'pytorchjob' }, versions } });
  world.kubectl('wait', '--for=condition=Established', 'crd/pytorchjobs.kubeflow.org', '--timeout=60s');
  const job = () => JSON.parse(world.kubectl('get', 'pytorchjobs', 'train', '-n', 'default', '-o', 'json'));
  world.apply({ apiVersion: 'kubeflow.org/v1', kind: 'PyTorchJob', metadata: { name: 'train', namespace: 'default', annotations: { [`${HYPERPOD}enable-job-auto-resume`]: 'true', [`${HYPERPOD}job-max-retry-count`]: '2' } }, spec: {} });
  const owner = { apiVersion: 'kubeflow.org/v1', kind: 'PyTorchJob', name: 'train', uid: job().metadata.uid, controller: true };
  const places = { 'train-master-0': objectOf('gpu-3'), 'train-worker-0': objectOf('gpu-1') };
  world.apply(...Object.entries(places).map(([name, node]) => ({
    apiVersion: 'v1', kind: 'Pod', metadata: { name, namespace: 'default', labels: { 'training.kubeflow.org/job-name': 'train' }, ownerReferences: [owner] },
    spec: { nodeSelector: { 'kubernetes.io/hostname': node }, containers: [{ name: 'pytorch', image: 'none' }], terminationGracePeriodSeconds: 1 } })));
  await until('its pods run and are one job', () => world.json('job', 'list').some((j) => j.id === 'default/train' && j.nodes === 'gpu-1,gpu-3'));
  const before = world.operations('gpu-3').filter((o) => o.kind === 'reboot' && o.state === 'succeeded').length;
  world.kubectl('label', '--overwrite', 'node', places['train-master-0'], `${HEALTH}=UnschedulablePendingReboot`);
  await until('both pods are gone', () => Object.values(places).every((node) => !podsOf(node).some((p) => p.metadata.name in places)));
  const { count, done } = JSON.parse(job().metadata.annotations['holdfast/restarts']);
  assert.deepEqual([count, done], [1, true]);
  const events = JSON.parse(world.kubectl('get', 'events', '-n', 'default', '-o', 'json', '--field-selector', 'involvedObject.kind=PyTorchJob')).items;
  assert.deepEqual(events.map((e) => [e.reason, e.message]), [['PyTorchJobRestarting', `Restart 1 of 2: the node ${places['train-master-0']} is drained`]]);
  await world.repaired('gpu-3', 'reboot', before);
  assert.equal(world.operations('gpu-1').filter((o) => o.state === 'running').length, 0);
});

test('an agent runs on every node, also on one that is out of service, and its pod holds no token of the cluster', { skip: why }, async () => {
  const agents = () => JSON.parse(world.kubectl('get', 'pods', '-n', 'aws-hyperpod', '-l', 'app.kubernetes.io/name=hp-agent', '-o', 'json')).items;
  const object = objectOf('gpu-1');
  world.kubectl('taint', 'node', object, 'broken=yes:NoExecute');
  await until('three agents run', () => agents().filter((p) => p.status.phase === 'Running' && world.kubeNodes().some((n) => n.metadata.name === p.spec.nodeName)).length === 3);
  world.kubectl('taint', 'node', object, 'broken-');
  for (const pod of agents()) assert.deepEqual(pod.spec.volumes.filter((v) => v.projected), []);
  const can = world.kubectlRun('auth', 'can-i', '--list', '--as', 'system:serviceaccount:aws-hyperpod:hp-agent').out;
  assert.doesNotMatch(can, /^(nodes|pods|events|secrets|configmaps)/m);
});

test('every right was needed, and none was missing', { skip: why }, async () => {
  const asked = () => readFileSync(join(world.kubernetes, 'audit.log'), 'utf8').trim().split('\n').map((line) => JSON.parse(line)).filter((e) => e.objectRef?.resource);
  const rights = JSON.parse(world.kubectl('get', 'clusterrole', 'holdfast', '-o', 'json')).rules.filter((r) => r.resources[0] !== 'secrets' && r.apiGroups[0] !== 'sagemaker.amazonaws.com')
    .flatMap((r) => r.verbs.map((verb) => `${verb} ${r.resources[0]}`)).filter((right) => right !== 'create pods'); // training jobs alone need that
  let unused;
  await until('all rights were used', () => {
    const used = new Set(asked().filter((e) => e.responseStatus.code < 400).map((e) => `${e.verb} ${e.objectRef.resource}${e.objectRef.subresource ? `/${e.objectRef.subresource}` : ''}`));
    unused = rights.filter((right) => !used.has(right));
    return unused.length === 0;
  }, 30000).catch(() => assert.deepEqual(unused, []));
  assert.deepEqual(asked().filter((e) => e.responseStatus.code === 403), []);
  assert.ok(asked().every((e) => e.user.username === 'system:serviceaccount:aws-hyperpod:hpd'));
});

test('the Helm chart makes what kustomize makes', { skip: why }, () => {
  const folder = join(root, 'packaging/kubernetes'), chart = join(folder, 'chart');
  const values = Object.fromEntries([...readFileSync(join(chart, 'values.yaml'), 'utf8').matchAll(/^(\w+): (.*)$/gm)].map((m) => [`.Values.${m[1]}`, m[2]]));
  const words = { ...values, '.Release.Namespace': 'aws-hyperpod' };
  const rendered = ['rbac', 'hpd', 'agent'].map((name) => readFileSync(join(chart, 'templates', `${name}.yaml`), 'utf8').replace(/\{\{ (\S+) \}\}/g, (_, word) => {
    assert.ok(word in words, word);
    return words[word];
  })).join('---\n');
  const objects = (text) => {
    const run = spawnSync(join(world.kubernetes, 'bin/kubectl'), ['--kubeconfig', join(world.kubernetes, 'admin.conf'), '-n', 'aws-hyperpod', 'apply', '--server-side', '--force-conflicts', '--dry-run=server', '-o', 'json', '-f', '-'], { encoding: 'utf8', input: text });
    assert.equal(run.status, 0, run.stderr);
    return JSON.parse(run.stdout).items.filter((o) => o.kind !== 'Namespace').map((o) => [o.kind, o.metadata.name, o.metadata.namespace, JSON.stringify([o.rules, o.roleRef, o.subjects, o.data, o.spec, o.automountServiceAccountToken])]).sort();
  };
  assert.deepEqual(objects(rendered), objects(world.kubectl('kustomize', folder)));
});
