// A real API server that is overloaded (429 with Retry-After), that has forgotten places (410), and whose watches break or expire, in the
// middle of lists, watches and a repair: hpd goes on, and the scheduler is called down where it is, and nowhere else.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { HEALTH, KubernetesWorld, cannot } from '../lib/kubernetes.mjs';
import { KubernetesProxy } from '../lib/kubernetes_proxy.mjs';
import { FELL_OFF, until } from '../lib/world.mjs';

const why = cannot();
const WAIT = 90000;
let world, proxy;

class Proxied extends KubernetesWorld {
  async startHpd() {
    if (!proxy) {
      proxy = new KubernetesProxy(join(this.kubernetes, 'holdfast.conf'));
      const file = join(this.kubernetes, 'proxied.conf');
      writeFileSync(file, JSON.stringify({ 'current-context': 'lab', clusters: [{ name: 'lab', cluster: { server: await proxy.start() } }], users: [{ name: 'holdfast', user: { token: 'none' } }], contexts: [{ name: 'lab', context: { cluster: 'lab', user: 'holdfast' } }] }), { mode: 0o600 });
    }
    return super.startHpd();
  }

  scheduler() {
    return { ...super.scheduler(), kubeconfig: join(this.kubernetes, 'proxied.conf') };
  }
}

before(async () => {
  if (!why) world = await new Proxied({ nodes: 2 }).start();
}, { timeout: 300000 });
after(async () => {
  await world?.end();
  await proxy?.end();
});

const scheduler = () => world.json('scheduler', 'list')[0];
const objectOf = (name) => world.kubeNode(name).metadata.name;
const outages = () => world.events({ kind: 'scheduler-down' }).length;
const count = async () => (await proxy.seen(0)).length;

test('every third request is refused with 429 in the middle of a repair, which is done all the same', { skip: why }, async () => {
  const from = await count(), object = objectOf('gpu-1');
  await proxy.setRule({ code: 429, retryAfter: 1, every: 3 });
  world.kernel('gpu-1', FELL_OFF);
  await world.repaired('gpu-1', 'reboot');
  await proxy.setRule({});
  assert.equal(objectOf('gpu-1'), object);
  assert.ok((await proxy.seen(from)).some((r) => r.code === 429 && r.method === 'PATCH'), 'the repair met it');
});

test('watches that break, expire or are refused for a while are no outage, and nothing is missed', { skip: why }, async () => {
  const object = objectOf('gpu-2'), before = outages();
  for (const end of ['breakWatches', 'expireWatches', 'expireWatches']) {
    await until('both watches are open', async () => (await proxy.open()) >= 2, WAIT);
    const from = await count();
    assert.ok((await proxy[end]()) >= 2);
    await until('both are open again', async () => (await proxy.seen(from)).filter((r) => r.watch && r.code === 200).length >= 2, WAIT);
    const lists = (await proxy.seen(from)).filter((r) => !r.watch && r.limit === '500').map((r) => r.path);
    assert.deepEqual([...new Set(lists)].sort(), end === 'expireWatches' ? ['/api/v1/nodes', '/api/v1/pods'] : [], 'it lists again what is forgotten alone');
  }
  for (const code of [429, 410]) {
    const from = await count();
    await proxy.setRule({ code, retryAfter: 1, watch: true, times: 3 });
    await proxy.breakWatches();
    await until(`watches are open again after ${code}`, async () => {
      const watches = (await proxy.seen(from)).filter((r) => r.watch);
      return watches.filter((r) => r.code === code).length === 3 && watches.filter((r) => r.code === 200).length >= 2;
    }, WAIT);
  }
  await proxy.setRule({});
  world.kubectl('label', '--overwrite', 'node', object, `${HEALTH}=UnschedulablePendingReboot`);
  await world.repaired('gpu-2', 'reboot');
  assert.equal(outages(), before);
});

test('lists that are forgotten again and again are an outage that ends by itself', { skip: why }, async () => {
  await proxy.setRule({ code: 410, method: 'GET', path: '/api/v1/nodes' });
  await proxy.breakWatches();
  await until('it is down and says why', () => scheduler().state === 'down' && /410/.test(scheduler().error), WAIT);
  await proxy.setRule({});
  await until('it is up', () => scheduler().state === 'up', WAIT);
});

test('an API server that answers nothing but 429 is down; a repair that began then ends once it has time', { skip: why }, async () => {
  const object = objectOf('gpu-2'), before = world.operations('gpu-2').filter((o) => o.kind === 'reboot').length;
  const from = await count();
  await proxy.setRule({ code: 429, retryAfter: 1 });
  await proxy.breakWatches();
  world.kernel('gpu-2', FELL_OFF);
  await until('it is down and says why', () => scheduler().state === 'down' && /429/.test(scheduler().error), WAIT);
  const asked = await proxy.seen(from), seconds = (Date.now() - asked[0].at) / 1000;
  assert.ok(asked.length <= 20 + 8 * seconds, `it asked ${asked.length} times within ${seconds} s`);
  await proxy.setRule({});
  await world.repaired('gpu-2', 'reboot', before);
  assert.equal(objectOf('gpu-2'), object);
});
