// Rights on nodes and pods that are taken away one by one: hpd names what it may not do, does not ask in a loop, and goes on when the right
// is there. And hpd ends at once while the API server hangs.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, test } from 'node:test';
import { join } from 'node:path';
import { HEALTH, KubernetesWorld, cannot } from '../lib/kubernetes.mjs';
import { FELL_OFF, until } from '../lib/world.mjs';

const why = cannot();
const WAIT = 90000;
let world, all;
before(async () => {
  if (why) return;
  world = await new KubernetesWorld({ nodes: 2, scheduler: { timeout: '10s' } }).start();
  all = JSON.parse(world.kubectl('get', 'clusterrole', 'holdfast', '-o', 'json')).rules;
}, { timeout: 300000 });
after(async () => {
  try {
    world?.signal('kube-apiserver', 'SIGCONT');
  } catch { /* it is gone */ }
  await world?.end();
});

const scheduler = () => world.json('scheduler', 'list')[0];
const objectOf = (name) => world.kubeNode(name).metadata.name;
const podsOf = (object) => JSON.parse(world.kubectl('get', 'pods', '-n', 'default', '-o', 'json', '--field-selector', `spec.nodeName=${object}`)).items;
const names = (node, verb, resource) => world.events({ node }).some((e) => JSON.stringify(e).includes(`cannot ${verb} resource \\"${resource}\\"`));
function may(verb, resource) {
  const [kind, part] = resource.split('/');
  return world.kubectlRun('auth', 'can-i', verb, kind, ...(part ? [`--subresource=${part}`] : []), '--as=holdfast').out.trim().startsWith('yes');
}
const refused = () => readFileSync(join(world.kubernetes, 'audit.log'), 'utf8').trim().split('\n').map((line) => JSON.parse(line)).filter((e) => e.responseStatus?.code === 403).map((e) => Date.parse(e.stageTimestamp));

async function setRules(rules, verb, resource, expected) {
  world.kubectl('patch', 'clusterrole', 'holdfast', '--type=merge', '-p', JSON.stringify({ rules }));
  await until(`the server knows: ${verb} ${resource} ${expected}`, () => may(verb, resource) === expected, WAIT); // its authorizer learns it by a watch
}
async function without(verb, resource, story) {
  await setRules(all.map((r) => (r.resources[0] === resource ? { ...r, verbs: r.verbs.filter((v) => v !== verb) } : r)).filter((r) => r.verbs.length > 0), verb, resource, false);
  const before = refused().length;
  try {
    await story();
    const times = refused().slice(before), seconds = (times.at(-1) - times[0]) / 1000;
    assert.ok(times.length > 0, 'it was refused');
    assert.ok(times.length <= 10 + 4 * seconds, `it asked ${times.length} times within ${seconds} s`);
  } finally {
    await setRules(all, verb, resource, true);
  }
}

for (const [verb, resource] of [['list', 'nodes'], ['watch', 'nodes'], ['list', 'pods'], ['watch', 'pods']]) {
  test(`without "${verb} ${resource}" the scheduler is down and says so`, { skip: why }, async () => {
    await without(verb, resource, async () => {
      await world.killHpd();
      await world.startHpd();
      await until('it is down, with the reason', () => {
        const { state, error } = scheduler();
        return state === 'down' && /HTTP 403/.test(error) && error.includes(`cannot ${verb} resource "${resource}"`);
      }, WAIT);
      for (let i = 0; i < 20; i++) {
        assert.equal(scheduler().state, 'down', 'and stays it');
        await new Promise((done) => setTimeout(done, 100));
      }
    });
    await until('it is up', () => scheduler().state === 'up', WAIT);
  });
}

// The repair of node by a label of a person: told, story, and done once the right is back.
async function repairWithout(verb, resource, node, kind, story = () => {}) {
  const before = world.operations(node).filter((o) => o.kind === kind).length;
  await without(verb, resource, async () => {
    world.kubectl('label', '--overwrite', 'node', objectOf(node), `${HEALTH}=UnschedulablePending${kind === 'reboot' ? 'Reboot' : 'Replacement'}`);
    await until(`the timeline names "${verb} ${resource}"`, () => names(node, verb, resource), WAIT);
    await world.looks(3);
    await story();
    const waiting = world.operations(node).filter((o) => o.kind === kind && o.state === 'running');
    assert.equal(waiting.length, 1, `it waits: ${JSON.stringify(world.operations(node))}`);
  });
  await world.repaired(node, kind, before);
}

test('without "get nodes" a repair says so and waits for the right', { skip: why }, async () => {
  await repairWithout('get', 'nodes', 'gpu-1', 'reboot');
});

test('without "delete nodes" the machine is replaced once, and its node goes when the right is there', { skip: why }, async () => {
  const object = objectOf('gpu-2');
  await repairWithout('delete', 'nodes', 'gpu-2', 'replace', () => assert.ok(world.kubeNodes().some((n) => n.metadata.name === object)));
  await until('its node is gone', () => !world.kubeNodes().some((n) => n.metadata.name === object), WAIT);
  assert.equal(world.operations('gpu-2').filter((o) => o.kind === 'replace').length, 1);
});

function runPod(name, object, more = []) {
  world.apply({
    apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name, namespace: 'default' },
    spec: { replicas: 1, selector: { matchLabels: { app: name } }, template: { metadata: { labels: { app: name } }, spec: { nodeSelector: { 'kubernetes.io/hostname': object }, containers: [{ name: 'c', image: 'none' }], terminationGracePeriodSeconds: 1 } } } }, ...more);
  return until('the pod runs', () => podsOf(object).find((p) => p.metadata.labels.app === name && p.status.phase === 'Running'), WAIT); // not one of a test before, which is still ending
}

test('without "create pods/eviction" no pod is touched', { skip: why }, async () => {
  const object = objectOf('gpu-1'), pod = await runPod('plain', object);
  await repairWithout('create', 'pods/eviction', 'gpu-1', 'reboot', () => assert.equal(podsOf(object).find((p) => p.metadata.uid === pod.metadata.uid)?.metadata.deletionTimestamp, undefined));
  assert.ok(!podsOf(object).some((p) => p.metadata.uid === pod.metadata.uid));
  world.kubectl('delete', 'deployment', 'plain');
});

test('without "delete pods" what a budget protects stays', { skip: why }, async () => {
  const object = objectOf('gpu-1');
  const pod = await runPod('kept', object, [{ apiVersion: 'policy/v1', kind: 'PodDisruptionBudget', metadata: { name: 'kept', namespace: 'default' }, spec: { minAvailable: 1, selector: { matchLabels: { app: 'kept' } } } }]);
  await repairWithout('delete', 'pods', 'gpu-1', 'reboot', () => assert.ok(podsOf(object).some((p) => p.metadata.uid === pod.metadata.uid)));
  assert.ok(!podsOf(object).some((p) => p.metadata.uid === pod.metadata.uid));
  world.kubectl('delete', 'deployment/kept', 'pdb/kept');
});

for (const [verb, resource, node] of [['patch', 'nodes/status', 'gpu-1'], ['create', 'events', 'gpu-2']]) {
  test(`without "${verb} ${resource}" a fault is repaired, and the timeline says what is not shown`, { skip: why }, async () => {
    const before = world.operations(node).filter((o) => o.kind === 'reboot').length;
    await without(verb, resource, async () => {
      world.kernel(node, FELL_OFF);
      await until(`the timeline names "${verb} ${resource}"`, () => names(node, verb, resource), WAIT);
      await world.repaired(node, 'reboot', before);
    });
    const shown = JSON.parse(world.kubectl('get', 'events', '-n', 'default', '-o', 'json')).items.some((e) => e.source?.component === 'holdfast' && e.involvedObject.name === objectOf(node));
    assert.equal(shown, resource !== 'events');
  });
}

test('hpd ends at once while the API server hangs', { skip: why }, async () => {
  world.signal('kube-apiserver', 'SIGSTOP');
  const gone = new Promise((done) => world.hpd.on('exit', (code) => done(code)));
  const begun = Date.now();
  world.hpd.kill('SIGTERM');
  assert.equal(await gone, 0);
  assert.ok(Date.now() - begun < 9000, `it took ${Date.now() - begun} ms, which is a call's deadline`);
  world.signal('kube-apiserver', 'SIGCONT');
  await world.startHpd();
  await until('it is up', () => scheduler().state === 'up', WAIT);
});
