// Random faults and small catastrophes over four machines, from a seed, for SOAK seconds (10; more by hand): at the end all
// is in service, each repair was done once, and hpd has not grown in memory, descriptors, children or zombies.
import assert from 'node:assert/strict';
import { readFileSync, readdirSync } from 'node:fs';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { Local, random } from '../lib/local.mjs';
import { FELL_OFF, XID, until } from '../lib/world.mjs';

const SECONDS = Number(process.env.SOAK ?? 10);
const SEED = Number(process.env.SEED ?? 1);
const NAMES = ['w-1', 'w-2', 'w-3', 'w-4'];

let world;
before(async () => {
  world = await new Local({ recovery: { rebootsMax: 100, replacesMax: 100, budgetPercent: 50 } }).start();
  await world.create(4);
  await world.ready();
});
after(() => world?.end());

const rss = () => Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${world.hpd.pid}/status`, 'utf8'))[1]);
const descriptors = () => readdirSync(`/proc/${world.hpd.pid}/fd`).length;
function zombies() {
  return readdirSync('/proc').filter((p) => /^\d+$/.test(p)).filter((p) => {
    try {
      const stat = readFileSync(`/proc/${p}/stat`, 'utf8').split(') ')[1].split(' ');
      return stat[0] === 'Z' && [world.hpd.pid, ...world.directories().map((id) => Number((world.file(id, 'machine.pid') ?? '0').split(' ')[0]))].includes(Number(stat[1]));
    } catch {
      return false;
    }
  });
}

const SMALL = [() => XID(31, 'MMU Fault: ENGINE GRAPHICS faulted'), () => XID(45, 'Ch 00000010'), () => XID(43, 'Ch 00000020'), () => XID(13, 'Graphics Exception'), () => 'NVRM: nonsense \u001b[31m', () => 'x'.repeat(5000), () => XID(999, 'what is this')];

async function mishap(next) {
  const name = NAMES[Math.floor(next() * 4)];
  const dice = next();
  if (dice < 0.5) return world.kernel(name, ...Array.from({ length: 1 + Math.floor(next() * 20) }, () => SMALL[Math.floor(next() * SMALL.length)]()));
  if (dice < 0.7) return world.kernel(name, FELL_OFF);
  if (dice < 0.85) {
    const pid = world.processOf((await world.node(name)).instanceId ?? 'none', 'hp-agent');
    if (pid) process.kill(pid, 'SIGKILL');
    return undefined;
  }
  if (dice < 0.95) return world.raw('POST /v1/agent/verdicts HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{"half', 50);
  return world.call('POST', `/v1/clusters/demo/nodes/${name}/${next() < 0.5 ? 'reboot' : 'replace'}`, {});
}

async function settled() {
  await until('all in service', async () => {
    const nodes = await world.list('/v1/clusters/demo/nodes');
    const busy = (await world.list('/v1/operations?cluster=demo')).some((o) => ['pending', 'running'].includes(o.state));
    return !busy && nodes.every((n) => n.state === 'ready' && n.health !== 'unknown' && n.health !== 'unhealthy');
  });
}

test(`${SECONDS} s of mishaps, seed ${SEED}`, { timeout: (SECONDS + 400) * 1000 }, async () => {
  const next = random(SEED);
  let start; // after a third, when most pools and caches have filled
  const sizes = [];
  for (const [began, end] = [Date.now(), Date.now() + SECONDS * 1000]; Date.now() < end; await sleep(next() * 400)) {
    await mishap(next).catch((error) => assert.ok(/fetch failed|terminated/.test(error.message) || error.code === 'ENOENT' || error.code === 'ESRCH', error.stack));
    if (process.env.SOAK && Date.now() - began > sizes.length * 10000) sizes.push(rss());
    if (!start && Date.now() - began > (SECONDS * 1000) / 3) start = { rss: rss(), descriptors: descriptors() };
  }
  await settled();
  const repairs = (await world.list('/v1/operations?cluster=demo')).filter((o) => o.kind === 'reboot' || o.kind === 'replace');
  const wentDown = new Set(world.reboots());
  assert.equal(world.reboots().length, wentDown.size, 'no request was carried out twice');
  assert.ok(wentDown.size <= repairs.filter((o) => o.kind === 'reboot').length);
  const fill = (await world.list('/v1/clusters/demo/nodes')).map((n) => n.instanceId).sort();
  await until('no machine is left over', () => JSON.stringify(world.machines().sort()) === JSON.stringify(fill));
  await until('no zombie', () => zombies().length === 0);
  await until('no descriptor is left over', () => descriptors() <= start.descriptors + 12);
  // SQLite's caches alone take some 10 MB until they are full; more than that would be a leak.
  assert.ok(rss() < start.rss + 24 * 1024, `resident: ${start.rss} kB, then ${rss()} kB`);
  if (process.env.SOAK) console.error(`soak: ${repairs.length} repairs, rss ${start.rss} -> ${rss()} kB (${sizes}), fds ${start.descriptors} -> ${descriptors()}, ${world.directories().length} machines in all`);
});
