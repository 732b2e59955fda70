// The clock of hpd's machine is set while it runs: an hour forward, then two hours more, then back. No agent counts as silent, a repair that runs
// goes on and succeeds, and each step is reported. The clock is a library that is loaded into hpd alone: its agents keep the right time.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { chmodSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { Local } from '../lib/local.mjs';
import { FELL_OFF, until } from '../lib/world.mjs';

const LIBRARY = new URL('../lib/stepped_clock.c', import.meta.url).pathname;
const SLOW = 180000;
const HOUR_S = 3600;
let world;
let why = false;

// Every machine waits at its boot for a file, so that a repair runs for as long as the test wants.
before(async () => {
  // Two minutes of silence, so that a loaded machine makes none; a step is far more than that.
  world = new Local({ config: { agents: { heartbeatInterval: '300ms', silentAfter: '2m', unreachableAfter: '10m' } } });
  const library = join(world.dir, 'stepped_clock.so');
  const made = spawnSync('cc', ['-shared', '-fPIC', '-O2', '-o', library, LIBRARY], { encoding: 'utf8' });
  if (made.status !== 0) {
    why = `needs a C compiler: ${made.error?.message ?? made.stderr}`;
    return;
  }
  const wrapper = join(world.dir, 'agent.sh');
  const config = JSON.parse(readFileSync(world.config, 'utf8'));
  const [service] = config.providers.local.services;
  writeFileSync(wrapper, `#!/bin/sh\nunset LD_PRELOAD STEPPED_CLOCK_FILE\nwhile [ -e "${world.dir}/closed" ]; do sleep 0.1; done\nexec "$@"\n`);
  chmodSync(wrapper, 0o755);
  service.command = [wrapper, ...service.command];
  writeFileSync(world.config, JSON.stringify(config));
  world.clock = join(world.dir, 'clock');
  writeFileSync(world.clock, '0\n');
  world.wrapper = ['env', `LD_PRELOAD=${library}`, `STEPPED_CLOCK_FILE=${world.clock}`];
  await world.start();
  await world.create(3);
  await world.ready(SLOW);
});
after(() => world?.end());

const steps = async () => (await world.list('/v1/events')).filter((e) => e.kind === 'clock-step').sort((a, b) => a.id - b.id);

async function set(seconds, count, words) {
  writeFileSync(world.clock, `${seconds}\n`);
  const told = await until(`step ${count} is reported`, async () => {
    const all = await steps();
    return all.length >= count && all;
  }, SLOW);
  assert.equal(told.length, count, JSON.stringify(told));
  assert.match(told.at(-1).message, words);
}

test('an hour, two hours more, and back, while a repair runs', { timeout: 600000 }, async (t) => {
  if (why) return t.skip(why);
  writeFileSync(join(world.dir, 'closed'), '');
  await world.kernel('w-1', FELL_OFF);
  const running = await until('the machine is rebooted, and its agent is not back', async () => {
    const [repair] = await world.repairs('w-1');
    return repair?.state === 'running' && world.reboots().length === 1 && repair;
  }, SLOW);
  await set(HOUR_S, 1, /set forward by (1h|59m|60m)/);
  await set(3 * HOUR_S, 2, /set forward by (2h|1h ?59m|1h ?60m)/);
  // What a step would lead to comes with the next turns: they are over when a fault that came later is repaired.
  await world.kernel('w-2', FELL_OFF.replace('79', '31'));
  await until('a later verdict has come', async () => (await world.verdicts('w-2')).length > 0, SLOW);
  const [now] = await world.repairs('w-1');
  assert.equal(now.id, running.id);
  assert.equal(now.state, 'running', JSON.stringify(now));
  rmSync(join(world.dir, 'closed'));
  await until('the repair succeeds', async () => (await world.repairs('w-1'))[0].state === 'succeeded' && (await world.node('w-1')).state === 'ready', SLOW);
  assert.equal((await world.repairs('w-1')).length, 1);
  await set(0, 3, /set back by (3h|2h ?59m|2h ?60m)/);
  await world.ready(SLOW);
  const events = await world.list('/v1/events');
  assert.deepEqual(events.filter((e) => e.kind === 'agent-silent' && e.node !== 'w-1'), [], 'no agent counts as silent');
  for (const name of ['w-2', 'w-3']) assert.equal((await world.node(name)).live.silent, false);
  assert.equal(world.reboots().length, 1);
});

test('hpd is started again under a clock that is two hours ahead', { timeout: 600000 }, async (t) => {
  if (why) return t.skip(why);
  await world.stopHpd('SIGKILL');
  writeFileSync(world.clock, `${2 * HOUR_S}\n`);
  await world.start();
  await world.ready(SLOW);
  await world.kernel('w-3', FELL_OFF);
  await until('a fault is repaired', async () => (await world.repairs('w-3'))[0]?.state === 'succeeded' && (await world.node('w-3')).state === 'ready', SLOW);
  assert.equal((await world.repairs('w-3')).length, 1);
  for (const name of ['w-1', 'w-2']) {
    assert.equal((await world.node(name)).live.silent, false);
    assert.ok((await world.repairs(name)).every((o) => o.state === 'succeeded'));
  }
});
