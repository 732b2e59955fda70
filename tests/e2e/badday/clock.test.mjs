// An agent whose clock is an hour off, either way: its times are corrected, it is said once, and decisions are right.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { Local, Speaker } from '../lib/local.mjs';
import { until } from '../lib/world.mjs';

const HOUR = 3600 * 1000;
const NEAR = 20 * 1000; // corrections go in steps of 10 s
let world;
const speakers = [];
before(async () => {
  world = await new Local({ speakers: true, recovery: { budgetPercent: 100 } }).start();
  await world.create(3);
  for (const [i, offsetMs] of [HOUR, -HOUR, 0].entries()) {
    const speaker = await new Speaker(world, `w-${i + 1}`).enroll();
    speaker.offsetMs = offsetMs;
    speakers.push(speaker.speak());
  }
  await world.ready();
});
after(async () => {
  speakers.forEach((s) => s.stop());
  await world?.end();
});

for (const [i, which] of ['ahead', 'behind'].entries()) {
  test(`an hour ${which}`, async () => {
    const speaker = speakers[i];
    const name = speaker.name;
    const told = await until('it is said', async () => {
      const all = await world.events('clock-skew', name);
      return all.length > 0 && all;
    });
    assert.equal(told.length, 1, 'once');
    assert.match(told[0].message, new RegExp(which));
    const skew = (await world.node(name)).live.clockSkewMs;
    assert.ok(Math.abs(Math.abs(skew) - HOUR) < NEAR, String(skew));
    // Evidence of half a minute ago, by the agent's own clock: neither lost, nor of the future, nor stale.
    const seenAt = Date.now() - 30000;
    const at = seenAt + speaker.offsetMs;
    assert.equal((await speaker.report([speaker.fatal(`${name}-fatal`, { firstAtMs: at, lastAtMs: at })])).status, 200);
    const verdict = (await world.verdicts(name)).find((v) => v.code === 'xid.79');
    for (const time of [verdict.firstAt, verdict.lastAt]) assert.ok(Math.abs(Date.parse(time) - seenAt) < NEAR, `${time} for ${new Date(seenAt).toISOString()}`);
    await until('rebooted once and ready', async () => {
      const repairs = await world.repairs(name);
      return repairs.length === 1 && repairs[0].state === 'succeeded' && (await world.node(name)).state === 'ready';
    });
    // The same report again, as after an answer that was lost: now of an earlier boot, and nothing follows.
    const repeat = await speaker.report([speaker.fatal(`${name}-fatal`, { firstAtMs: at, lastAtMs: at })], { bootId: verdict.bootId });
    assert.equal(repeat.status, 200);
    assert.equal((await world.verdicts(name)).filter((v) => v.code === 'xid.79').length, 1);
    assert.equal((await world.repairs(name)).length, 1);
    assert.equal(world.reboots().filter((line) => line).length, i + 1);
  });
}

test('the clock is put right in mid-flight', async () => {
  const [speaker] = speakers;
  speaker.offsetMs = 0;
  await until('it is said', async () => (await world.events('clock-skew', speaker.name)).length === 2);
  assert.equal((await world.node(speaker.name)).live.silent, false);
  assert.equal((await world.events('clock-skew', 'w-3')).length, 0, 'a right clock is no news');
  const at = Date.now();
  await speaker.report([speaker.verdict('after')]);
  const verdict = (await world.verdicts(speaker.name)).find((v) => v.code === 'xid.31');
  assert.ok(Math.abs(Date.parse(verdict.firstAt) - at) < 5000);
});
