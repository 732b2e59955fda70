// The campaign: kill -9 of hpd and of agents at random moments (from a seed), while lines come into the kernel logs of three machines and GPUs break on one of
// them. Nothing is lost and nothing is done twice: each fault that stood in a log once is one verdict with a count of one, the lines of the one that
// goes on are counted to the last, and each GPU that broke is one repair, by the machine's own account.
//
//     make campaign KILLS=500 SEED=7
import assert from 'node:assert/strict';
import { appendFileSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { Local, random } from '../lib/local.mjs';
import { agentPath } from '../lib/programs.mjs';
import { FELL_OFF, XID, until } from '../lib/world.mjs';

const KILLS = Number(process.env.KILLS || 24);
const SEED = Number(process.env.SEED || 1);
const SLOW = 300_000;
const KILLS_PER_REPAIR = 12;
const BROKEN = 'w-1'; // the machine whose GPU breaks
const NOISY = ['w-2', 'w-3'];
const OFTEN = 'xid.43 7777:01:00';
const hex = (n) => n.toString(16).padStart(2, '0');

let world;
before(async () => {
  world = new Local({ recovery: { rebootsMax: 100, replacesMax: 100, budgetPercent: 100 } });
  // The machine's own supervisor waits longer after each death of an agent: this one does not.
  const config = JSON.parse(readFileSync(world.config, 'utf8'));
  const [service] = config.providers.local.services;
  service.command = ['/bin/sh', '-c', 'trap \'kill "$agent"; wait; exit\' TERM; while :; do "$@" & agent=$!; wait "$agent"; sleep 0.1; done', 'agent', ...service.command];
  writeFileSync(world.config, JSON.stringify(config));
  await world.start();
  await world.create(3);
  await world.ready(SLOW);
});
after(() => world?.end());

// The agent of a machine; undefined while there is none.
function agentOf(instanceId) {
  for (const pid of readdirSync('/proc').filter((p) => /^\d+$/.test(p))) {
    try {
      const words = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0');
      if (words[0] === agentPath && words.includes(instanceId)) return Number(pid);
    } catch {
      // it has ended
    }
  }
  return undefined;
}

function kill(pid, signal) {
  try {
    process.kill(pid, signal);
    return true;
  } catch {
    return false; // it ended by itself meanwhile
  }
}

// Writes lines into the kernel log of one machine until it is stopped, and knows what it wrote.
class Noise {
  lines = new Map();
  stopped = false;

  constructor(instanceId, next) {
    Object.assign(this, { instanceId, next, path: join(world.instances, instanceId, 'kmsg') });
  }

  put(fault, line) {
    appendFileSync(this.path, `${line}\n`);
    if (fault) this.lines.set(fault, (this.lines.get(fault) ?? 0) + 1);
  }

  async run() {
    for (let i = 0; !this.stopped; i++) {
      const pci = `00${hex((i >> 11) & 255)}:${hex((i >> 3) & 255)}:00`;
      if (i % 8 === 0) this.put(`xid.43 ${pci}`, XID(43, 'Ch 00000020', pci));
      else if (i % 2 === 0) this.put(OFTEN, XID(43, 'Ch 00000021', '7777:01:00'));
      else this.put(undefined, `holdfast campaign: noise ${i}`);
      await sleep(this.next() * 80);
    }
  }
}

// fault → [verdicts, lines], as hpd has them.
async function told(name) {
  const sums = new Map();
  for (const { code, device, count } of await world.verdicts(name)) {
    const fault = `${code} ${device}`;
    const [verdicts, lines] = sums.get(fault) ?? [0, 0];
    sums.set(fault, [verdicts + 1, lines + count]);
  }
  return sums;
}

const total = (values) => [...values].reduce((sum, one) => sum + one, 0);

// What still grows is reported when an agent ends well.
async function settle(name, noise) {
  const wanted = total(noise.lines.values());
  await until(`all lines of ${name} are counted`, async () => {
    const pid = agentOf(noise.instanceId);
    if (pid) kill(pid, 'SIGTERM');
    await sleep(1500); // for the next one to deliver
    return total([...(await told(name)).values()].map(([, lines]) => lines)) >= wanted;
  }, SLOW).catch(() => {}); // the comparison says what is missing
}

test(`${KILLS} kills of hpd and agents under noise, seed ${SEED}`, { timeout: 6 * 3600_000 }, async (t) => {
  const next = random(SEED);
  const ids = Object.fromEntries(await Promise.all(NOISY.map(async (name) => [name, (await world.node(name)).instanceId])));
  const noises = Object.fromEntries(NOISY.map((name, i) => [name, new Noise(ids[name], random(SEED + i + 1))]));
  const began = Date.now();
  const written = Object.values(noises).map((noise) => noise.run());
  const count = { hpd: 0, agent: 0, faults: 0 };
  let said = 0;
  const explain = async (error) => {
    const seen = [await world.node(BROKEN), (await world.repairs(BROKEN)).slice(0, 3)];
    throw new Error(`seed ${SEED}, after ${JSON.stringify(count)}: ${error.message}\n${JSON.stringify(seen, null, 1)}\n${world.log.slice(-3000)}`);
  };
  const repaired = () => until(`fault ${count.faults} is repaired`, async () => {
    const repairs = await world.repairs(BROKEN);
    return repairs.filter((o) => o.state === 'succeeded').length === count.faults && (await world.node(BROKEN)).state === 'ready';
  }, SLOW).catch(explain);

  while (count.hpd + count.agent < KILLS) {
    if ((count.hpd + count.agent) % KILLS_PER_REPAIR === 0) {
      await repaired();
      count.faults++;
      // The same GPU again, which ends in another machine, or one that was well so far.
      await world.kernel(BROKEN, next() < 0.3 ? FELL_OFF : XID(79, 'GPU has fallen off the bus.', `0000:${hex(count.faults)}:00`));
    }
    await sleep(next() * 400);
    if (next() < 0.5) {
      await world.stopHpd('SIGKILL');
      if (next() < 0.3) await sleep(next() * 500); // agents may have to wait
      await world.start();
      count.hpd++;
    } else {
      const machines = [...NOISY.map((name) => ids[name]), (await world.node(BROKEN)).instanceId];
      const pid = agentOf(machines[Math.floor(next() * machines.length)]);
      if (pid && kill(pid, 'SIGKILL')) count.agent++;
    }
    if (KILLS > 100 && (count.hpd + count.agent) % 50 === 0 && said < count.hpd + count.agent) {
      said = count.hpd + count.agent;
      console.error(`campaign: ${count.hpd} kills of hpd, ${count.agent} of agents, ${count.faults} faults, ${Math.round((Date.now() - began) / 1000)} s`);
    }
  }
  await repaired();
  Object.values(noises).forEach((noise) => { noise.stopped = true; });
  await Promise.all(written);
  const minutes = Math.ceil((Date.now() - began) / 60_000);

  let lines = 0, verdicts = 0, faults = 0;
  for (const name of NOISY) {
    const noise = noises[name];
    await settle(name, noise);
    const seen = await told(name);
    for (const [fault, wrote] of noise.lines) {
      const [rows, counted] = seen.get(fault) ?? [0, 0];
      assert.equal(counted, wrote, `${name}: ${fault}: ${wrote} lines were written, ${counted} were counted`);
      assert.ok(rows <= (fault === OFTEN ? minutes + 1 : 1), `${name}: ${fault}: ${rows} verdicts in ${minutes} min`);
      verdicts += rows;
    }
    assert.equal(seen.size, noise.lines.size, `${name}: only what was written is told`);
    assert.deepEqual(await world.repairs(name), [], `${name}: noise asks for no repair`);
    assert.equal((await world.node(name)).instanceId, ids[name]);
    lines += total(noise.lines.values());
    faults += noise.lines.size;
  }
  const repairs = await world.repairs(BROKEN);
  assert.equal(repairs.length, count.faults, 'one repair for each GPU that broke');
  assert.ok(repairs.every((o) => o.state === 'succeeded'), JSON.stringify(repairs.filter((o) => o.state !== 'succeeded')));
  const kinds = (kind) => repairs.filter((o) => o.kind === kind).length;
  assert.equal(world.reboots().length, kinds('reboot'), 'by the machines: one reboot for each request');
  assert.equal(new Set(world.reboots()).size, kinds('reboot'));
  assert.equal(world.directories().filter((id) => id.startsWith('i-')).length, 3 + kinds('replace'), 'one machine for each launch');
  assert.equal(world.machines().length, 3, 'and none left over');
  t.diagnostic(`${count.hpd} kills of hpd, ${count.agent} of agents in ${Math.round((Date.now() - began) / 1000)} s; ${lines} lines of ${faults} faults, ${verdicts} verdicts: 0 lost, 0 twice; `
    + `${count.faults} broken GPUs: ${kinds('reboot')} reboots, ${kinds('replace')} replacements, 0 twice`);
});
