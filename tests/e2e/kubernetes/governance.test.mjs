// Scheduler configurations and quotas in a real Kueue: a team's jobs run within its quota and borrow, what was lent is won back, priority
// preempts. Nothing that somebody else made is touched, what is not so is not said to be, and without Kueue nothing is half done.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { join } from 'node:path';
import { KubernetesWorld, cannotGovern } from '../lib/kubernetes.mjs';
import { root } from '../lib/programs.mjs';
import { until } from '../lib/world.mjs';

const why = cannotGovern();
const WAIT = 90000;
const p5 = 'ml.p5.48xlarge'; // 8 CPUs, 32 GiB and 8 GPUs of each node here
const CONFIG = '/v1/clusters/demo/scheduler-config';
const RIGHTS = join(root, 'packaging/kubernetes/rbac-governance.yaml');
const KINDS = ['clusterqueues', 'localqueues', 'resourceflavors', 'workloadpriorityclasses'];
const QUOTAS = '/v1/clusters/demo/quotas';

let world;
before(async () => {
  if (!why) world = await new KubernetesWorld({ nodes: 3 }).start();
}, { timeout: 300000 });
after(() => world?.end());

async function call(method, path, body, version) {
  const headers = { authorization: `Bearer ${world.token}`, 'content-type': 'application/json', ...(version === undefined ? {} : { 'if-match': `"${version}"` }) };
  const reply = await fetch(world.url + path, { method, headers, body: body && JSON.stringify(body) });
  const text = await reply.text();
  assert.ok(reply.status < 300, `${method} ${path}: ${reply.status} ${text}`);
  return text === '' ? undefined : JSON.parse(text);
}
const settled = (path, what = () => true) =>
  until(`${path} is settled`, async () => {
    const one = await call('GET', path);
    return !/ing$/.test(one.status) && what(one) && one;
  }, WAIT);
const quota = (team, amount, rest = {}, target = {}) =>
  call('POST', QUOTAS, { name: team, computeQuotaTarget: { teamName: team, ...target }, computeQuotaConfig: { computeQuotaResources: [{ instanceType: p5, ...amount }], ...rest } });

const get = (kind, name, space) => {
  const run = world.kubectlRun('get', kind, name, '-o', 'json', ...(space ? ['-n', space] : []));
  return run.code === 0 ? JSON.parse(run.out) : undefined;
};
const space = (team) => `hyperpod-ns-${team}`;
const queue = (team) => get('clusterqueue', `${space(team)}-clusterqueue`);
const resources = (team) => Object.fromEntries(queue(team).spec.resourceGroups[0].flavors[0].resources.map((r) => [r.name, r]));

function submit(team, name, gpus, priority) {
  const labels = { 'kueue.x-k8s.io/queue-name': `${space(team)}-localqueue`, ...(priority ? { 'kueue.x-k8s.io/priority-class': priority } : {}) };
  const container = { name: 'main', image: 'none', resources: { limits: { 'nvidia.com/gpu': String(gpus) } } };
  world.apply({ apiVersion: 'batch/v1', kind: 'Job', metadata: { name, namespace: space(team), labels }, spec: { template: { spec: { restartPolicy: 'Never', containers: [container] } } } });
}
const job = (team, name) => get('job', name, space(team));
const runs = (team, name) => until(`${name} runs`, () => job(team, name).spec.suspend === false && job(team, name).status.active === 1, WAIT);
// The condition of its workload that says why it is not admitted.
function workload(team, name) {
  const { uid } = job(team, name).metadata;
  return JSON.parse(world.kubectl('get', 'workloads', '-n', space(team), '-o', 'json')).items.find((w) => w.metadata.ownerReferences[0].uid === uid);
}
const condition = (team, name, type) => workload(team, name)?.status?.conditions?.find((c) => c.type === type);

test('without Kueue that is said, and nothing is made', { skip: why }, async () => {
  await call('POST', CONFIG, { name: 'main', schedulerConfig: { priorityClasses: [{ name: 'prod', weight: 100 }, { name: 'dev', weight: 10 }], fairShare: 'Enabled', idleResourceSharing: 'Enabled' } });
  await quota('vision', { count: 1 }, { preemptTeamTasks: 'LowerPriority' }, { fairShareWeight: 60 });
  for (const path of [CONFIG, `${QUOTAS}/vision`]) {
    const one = await settled(path);
    assert.deepEqual([one.status, one.applied], ['CreateFailed', false]);
    assert.match(one.failureReason, /Kubernetes has no Kueue/);
  }
  assert.doesNotMatch(world.kubectl('get', 'namespaces', '-o', 'name'), /hyperpod-ns/);
});

test('too few rights are named, and with them and Kueue it is applied', { skip: why }, async () => {
  world.kubernetesLab('kueue');
  await until('the missing right is named', async () => /cannot list resource/.test((await call('GET', `${QUOTAS}/vision`)).failureReason ?? ''), WAIT);
  world.kubectl('apply', '-f', RIGHTS);
  world.kubectl('create', 'clusterrolebinding', 'holdfast-governance', '--clusterrole=holdfast-governance', '--user=holdfast');
  // Kueue's queue waits for its flavor without an end. The right is named all the same.
  world.kubectl('patch', 'clusterrole', 'holdfast-governance', '--type=json', '-p', `[{"op": "replace", "path": "/rules/0/resources", "value": ${JSON.stringify(KINDS.filter((kind) => kind !== 'resourceflavors'))}}, {"op": "add", "path": "/rules/-", "value": {"apiGroups": ["kueue.x-k8s.io"], "resources": ["resourceflavors"], "verbs": ["list"]}}]`);
  await until('the missing right is named', async () => /cannot create resource "resourceflavors"/.test((await call('GET', `${QUOTAS}/vision`)).failureReason ?? ''), WAIT);
  assert.equal((await call('GET', `${QUOTAS}/vision`)).status, 'CreateFailed');
  world.kubectl('apply', '-f', RIGHTS);
  await quota('speech', { accelerators: 8 });
  for (const path of [CONFIG, `${QUOTAS}/vision`, `${QUOTAS}/speech`]) {
    const one = await settled(path, (o) => o.applied);
    assert.equal(one.status, 'Created', JSON.stringify(one));
  }
  const { spec } = queue('vision');
  assert.deepEqual(resources('vision'), { cpu: { name: 'cpu', nominalQuota: '8', borrowingLimit: '4' }, memory: { name: 'memory', nominalQuota: '32Gi', borrowingLimit: '16Gi' }, 'nvidia.com/gpu': { name: 'nvidia.com/gpu', nominalQuota: '8', borrowingLimit: '4' } });
  assert.deepEqual(resources('speech'), resources('vision')); // what is not named follows from what is
  assert.equal(spec.cohortName, queue('speech').spec.cohortName);
  assert.deepEqual([spec.preemption.reclaimWithinCohort, spec.preemption.withinClusterQueue, String(spec.fairSharing.weight)], ['Any', 'LowerPriority', '60']);
  assert.equal(get('localqueue', `${space('vision')}-localqueue`, space('vision')).spec.clusterQueue, `${space('vision')}-clusterqueue`);
  assert.equal(get('workloadpriorityclass', 'prod-priority').value, 100);
  assert.deepEqual(get('resourceflavor', p5).spec.nodeLabels, { 'node.kubernetes.io/instance-type': p5 });
  assert.equal(resources('idle-resource-sharing')['nvidia.com/gpu'].nominalQuota, '8'); // of three nodes two are given
  assert.ok(spec.namespaceSelector.matchLabels['kubernetes.io/metadata.name'] === space('vision'));
});

test('what is as it should be is not written again', { skip: why }, async () => {
  const version = queue('vision').metadata.generation;
  await world.looks(30); // twelve of them to a look at Kueue
  assert.equal(queue('vision').metadata.generation, version);
});

test('a team runs within its quota and borrows; what is beyond that waits', { skip: why }, async () => {
  submit('vision', 'own', 8, 'dev-priority');
  await runs('vision', 'own');
  submit('vision', 'borrows', 4, 'dev-priority');
  await runs('vision', 'borrows');
  submit('vision', 'waits', 4, 'dev-priority');
  await until('Kueue says why it waits', () => /insufficient (unused )?quota|borrowing limit/.test(condition('vision', 'waits', 'QuotaReserved')?.message ?? ''), WAIT);
  assert.equal(job('vision', 'waits').spec.suspend, true);
});

test('priority preempts within the team', { skip: why }, async () => {
  submit('vision', 'urgent', 8, 'prod-priority');
  await runs('vision', 'urgent');
  await until('one of lower priority has made room', () => ['own', 'borrows'].some((name) => condition('vision', name, 'Preempted')?.status === 'True'), WAIT);
  assert.equal(job('vision', 'urgent').spec.suspend, false);
});

test('what somebody changes in a queue of ours is set again', { skip: why }, async () => {
  world.kubectl('patch', 'workloadpriorityclass', 'dev-priority', '--type=merge', '-p', '{"value": 77}');
  world.kubectl('patch', 'clusterqueue', `${space('speech')}-clusterqueue`, '--type=json', '-p', '[{"op": "replace", "path": "/spec/resourceGroups/0/flavors/0/resources/2/nominalQuota", "value": "1"}]');
  await until('both are back', () => get('workloadpriorityclass', 'dev-priority').value === 10 && resources('speech')['nvidia.com/gpu'].nominalQuota === '8', WAIT);
});

test('a queue that somebody else made is left alone', { skip: why }, async () => {
  const foreign = { apiVersion: 'kueue.x-k8s.io/v1beta2', kind: 'ClusterQueue', metadata: { name: `${space('night')}-clusterqueue` }, spec: { namespaceSelector: {} } };
  world.apply(foreign);
  const { generation } = queue('night').metadata;
  await quota('night', { count: 1 });
  const one = await settled(`${QUOTAS}/night`);
  assert.equal(one.status, 'CreateFailed');
  assert.match(one.failureReason, /a ClusterQueue named hyperpod-ns-night-clusterqueue that this server did not make/);
  await call('DELETE', `${QUOTAS}/night`);
  await world.looks(20);
  assert.equal(queue('night').metadata.generation, generation);
  assert.equal(get('localqueue', `${space('night')}-localqueue`, space('night')), undefined);
});

test('a quota that goes takes its queue along when its last job has ended, also over a crash', { skip: why }, async () => {
  submit('speech', 'last', 1);
  await runs('speech', 'last');
  await call('DELETE', `${QUOTAS}/speech`);
  await world.killHpd();
  await world.startHpd();
  await until('its queue is going', () => queue('speech')?.metadata.deletionTimestamp, WAIT);
  world.kubectl('delete', 'job', 'last', '-n', space('speech'));
  await until('its queues are gone', () => queue('speech') === undefined && get('localqueue', `${space('speech')}-localqueue`, space('speech')) === undefined, WAIT);
  assert.ok(get('namespace', space('speech')), 'the namespace stays: people have things in it');
  assert.ok(queue('vision').metadata.deletionTimestamp === undefined && get('resourceflavor', p5), 'the other team keeps what is its own');
});

test('Kueue that is taken away is said', { skip: why }, async () => {
  for (const name of ['own', 'borrows', 'waits', 'urgent']) world.kubectl('delete', 'job', name, '-n', space('vision'));
  world.kubernetesLab('no-kueue');
  const one = await settled(`${QUOTAS}/vision`, (o) => !o.applied);
  assert.match(one.failureReason, /Kubernetes has no Kueue/);
  assert.ok(world.events({ kind: 'compute-quota' }).some((e) => e.level === 'warn' && /no Kueue/.test(e.message)));
});
