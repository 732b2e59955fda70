// The campaign of providers: kill -9 of hpd at random moments (from a seed), while people ask it to reboot and to replace instances of EC2, as moto has it.
// What was done is counted at the provider's side: one instance for each launch, one end for each that was let go, and at most one reboot for
// each that was asked for.
//
//     make campaign PROVIDER_KILLS=1000 SEED=7
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { Local, random } from '../lib/local.mjs';
import { Moto } from '../lib/moto.mjs';
import { until } from '../lib/world.mjs';

const KILLS = Number(process.env.PROVIDER_KILLS || 8);
const SEED = Number(process.env.SEED || 1);
const SLOW = Number(process.env.SLOW || 300_000);
const NODES = ['w-1', 'w-2', 'w-3'];
const moto = new Moto();
let world;
let cannot;

before(async () => {
  cannot = moto.start();
  if (cannot) return;
  const [, subnet] = /<subnetId>([^<]+)</.exec(await moto.ask('DescribeSubnets'));
  world = new Local({
    recovery: { joinDeadline: '20s', budgetPercent: 100 },
    config: { providers: { cloud: { kind: 'ec2', region: 'us-west-2', endpoint: await moto.frontUrl(), credentialsFile: moto.keys, image: 'ami-12c6146b', subnets: { [subnet]: 'us-west-2a' } } } },
  });
  await world.start();
  await world.create(NODES.length, { instanceGroups: [{ name: 'w', instanceCount: NODES.length, provider: 'cloud', instanceType: 'ml.p5.48xlarge' }] });
  await world.ready(SLOW);
});
after(async () => {
  await world?.end();
  await moto.end();
});

const ENDED = ['succeeded', 'failed', 'cancelled'];
const operations = async (kind) => (await world.list('/v1/operations?cluster=demo')).filter((o) => o.kind === kind);
const isBusy = async (name) => (await world.list(`/v1/operations?cluster=demo&node=${name}`)).some((o) => !ENDED.includes(o.state));

// A request whose answer is lost with hpd may have been stored: what came of it is read from the operations.
async function ask(name, kind) {
  await world.call('POST', `/v1/clusters/demo/nodes/${name}/${kind}`, { reason: 'the campaign', urgency: 'now' }).catch(() => {});
}

test(`${KILLS} kills of hpd while instances are rebooted and replaced, seed ${SEED}`, { timeout: 6 * 3600_000 }, async (t) => {
  if (cannot) return void t.skip(cannot);
  const next = random(SEED);
  const began = Date.now();
  let stalled = 0;
  let last = 0;
  for (let kills = 0; kills < KILLS; kills++) {
    for (const name of NODES) {
      if (await isBusy(name)) continue;
      // A reboot that was not sent is not sent again: its node has failed, and gets another machine.
      const { state } = await world.node(name);
      await ask(name, state === 'failed' || next() < 0.5 ? 'replace' : 'reboot');
    }
    // At any point: no proof hangs on it. A moto that has become slow is given more time, so that something goes on.
    const done = moto.done.RunInstances.length + moto.done.RebootInstances.length + moto.done.TerminateInstances.length;
    stalled = done === last ? stalled + 1 : 0;
    last = done;
    await sleep(next() * 1200 * (1 + Math.min(stalled, 8)));
    await world.stopHpd('SIGKILL');
    await world.start();
    if (KILLS > 100 && kills % 50 === 49) console.error(`campaign: ${kills + 1} kills, ${(await operations('replace')).length} replacements, ${moto.done.RebootInstances.length} reboots, ${Math.round((Date.now() - began) / 1000)} s`);
  }
  await until('all has ended', async () => (await Promise.all(NODES.map(isBusy))).every((busy) => !busy), SLOW).catch(async (error) => {
    const left = (await world.list('/v1/operations?cluster=demo')).filter((o) => !ENDED.includes(o.state));
    throw new Error(`${error.message}: ${JSON.stringify(left, null, 1)}\n${world.log.slice(-2000)}`);
  });
  for (const name of NODES) if ((await world.node(name)).state === 'failed') await ask(name, 'replace');
  await world.ready(SLOW);

  const [replaced, rebooted] = [await operations('replace'), await operations('reboot')];
  const counts = { kills: KILLS, replacements: replaced.length, reboots: rebooted.length, rebootsDone: moto.done.RebootInstances.length, seconds: Math.round((Date.now() - began) / 1000) };
  console.error(`campaign: ${JSON.stringify(counts)}`);
  assert.deepEqual(replaced.filter((o) => o.state !== 'succeeded').map((o) => [o.state, o.error]), [], 'each replacement succeeded');
  const instances = await moto.instances();
  assert.equal(instances.length, NODES.length + replaced.length, 'one instance for each launch');
  const alive = instances.filter((one) => one.state === 'running').map((one) => one.tags['holdfast-instance']).sort();
  assert.deepEqual(alive, (await Promise.all(NODES.map(async (name) => (await world.node(name)).instanceId))).sort(), 'what runs fills a slot');
  assert.equal(instances.filter((one) => one.state === 'terminated').length, replaced.length, 'one end for each that was let go');
  assert.ok(moto.done.RebootInstances.length <= rebooted.length, 'no reboot was done twice');
  const succeeded = rebooted.filter((o) => o.state === 'succeeded').length;
  assert.ok(moto.done.RebootInstances.length >= succeeded, 'what succeeded was done');
  assert.ok(KILLS < 100 || succeeded > rebooted.length / 2, JSON.stringify(rebooted.slice(0, 5).map((o) => [o.state, o.error])));
});
