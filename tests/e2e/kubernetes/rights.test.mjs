// Rights on nodes and pods that are taken away one by one: hpd names what it may not do and does not ask in a loop. And hpd ends at once
// while the API server hangs.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, test } from 'node:test';
import { join } from 'node:path';
import { HEALTH, KubernetesWorld, cannot } from '../lib/kubernetes.mjs';
import { until } from '../lib/world.mjs';

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
const may = (verb, resource) => world.kubectlRun('auth', 'can-i', verb, resource, '--as=holdfast').out.trim().startsWith('yes');
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
        return state === 'down' && /HTTP 403/.test(error) && error.includes(resource);
      }, WAIT);
    });
    await until('it is up', () => scheduler().state === 'up', WAIT);
  });
}

for (const [node, verb, request] of [['gpu-1', 'get', 'UnschedulablePendingReboot'], ['gpu-2', 'delete', 'UnschedulablePendingReplacement']]) {
  test(`without "${verb} nodes" a repair fails and names the right`, { skip: why }, async () => {
    const object = world.kubeNode(node).metadata.name;
    await without(verb, 'nodes', async () => {
      world.kubectl('label', '--overwrite', 'node', object, `${HEALTH}=${request}`);
      await until('the timeline names it', () => world.events({ node }).some((e) => JSON.stringify(e).includes(`cannot ${verb} resource`)), WAIT);
    });
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
