// What a real Slurm adds: a fault line's way to the drain in Slurm, and what one look at its nodes costs as they become many.
import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { answers, build, cpuMs, dir, number, quantile, say, seeded, start, stop, until } from './lib.mjs';

Object.assign(process.env, { HPD: join(build, 'hpd'), HPCTL: join(build, 'hpctl'), HP_AGENT: join(build, 'hp-agent') });
const { FELL_OFF, World, until: becomes } = await import('../tests/e2e/lib/world.mjs');
const root = resolve(import.meta.dirname, '..');

// --- from the kernel's line to Slurm -----------------------------------------------------------------------------

/** Writes a fault's line, and gives the milliseconds until Slurm itself says that the node is drained. */
async function drained(world, node) {
  const path = join(world.dir, 'instances', world.node(node).instanceId, 'kmsg');
  const from = process.hrtime.bigint();
  writeFileSync(path, `${FELL_OFF}\n`, { flag: 'a' });
  while (!world.slurmNode(node).state.includes('DRAIN'))
    if (Number(process.hrtime.bigint() - from) > 60e9) throw new Error(`${node} is not drained`);
  return Number(process.hrtime.bigint() - from) / 1e6;
}

/** The nodes are marked only and given back by hand, so that the next fault finds all as it was. */
async function faultToDrain() {
  const world = await new World({ recovery: { breakerMin: 100, observeInterval: '5s' } }).start();
  try {
    if (world.hpctl('cluster', 'update', '--node-recovery', 'None').code !== 0) throw new Error('no recovery None');
    const took = [];
    for (let i = 0; i < 40; i++) {
      const node = `gpu-${1 + (i % 4)}`;
      took.push(await drained(world, node));
      const released = world.hpctl('node', 'release', node, '--reason', 'measured', '--wait', '--timeout', '60s');
      if (released.code !== 0) throw new Error(released.err);
      await becomes(`${node} idle`, () => world.node(node).state === 'ready' && world.slurmNode(node).state === 'IDLE');
    }
    say('fault line written to node drained in Slurm', `p50 ${quantile(took, 0.5).toFixed(0)} ms, p99 ${quantile(took, 0.99).toFixed(0)} ms`,
        `${number(took.length)} faults, most ${Math.max(...took).toFixed(0)} ms; about 10 ms of it is our asking; HyperPod: 5 to 30 s`);
  } finally {
    await world.end();
  }
}

// --- a look at all nodes -----------------------------------------------------------------------------------------

const ticksMs = 10;
const cpuOf = (pid) => {
  const [utime, stime] = readFileSync(`/proc/${pid}/stat`, 'utf8').replace(/^.*\) /, '').split(' ').slice(11, 13);
  return (Number(utime) + Number(stime)) * ticksMs;
};

function lab(...args) {
  const run = spawnSync(join(root, 'tests/support/slurm-lab'), args, { encoding: 'utf8' });
  if (run.status !== 0) throw new Error(`slurm-lab ${args.join(' ')}: ${run.stderr}`);
  return run.stdout;
}

const observedAt = async (url) =>
  Number(/^holdfast_scheduler_observed_timestamp_seconds (\S+)/m.exec(await (await fetch(`${url}/metrics`)).text())[1]);

/** hpd and slurmctld with so many nodes, whose daemons are not there: what a look costs each, a look each second. */
async function look(nodes) {
  const where = join(dir, `slurm-${nodes}`);
  lab('start', where, '--nodes', `bench-[000000-${String(nodes - 1).padStart(6, '0')}]`, '--no-slurmd');
  try {
    const { state } = seeded(nodes, `looked-${nodes}`, nodes, 'slurm');
    const config = join(dir, `looked-${nodes}.yaml`);
    writeFileSync(config, JSON.stringify({
      agents: { heartbeatInterval: '10s', silentAfter: '1h' }, slurm: { conf: join(where, 'slurm.conf'), surveyInterval: '0s' }, recovery: { observeInterval: '1s' },
    }));
    const child = start(join(build, 'hpd'), ['--state-dir', state, '--listen', '127.0.0.1:0', '--config', config]);
    await until('hpd', () => /https?:\/\/[0-9.]+:\d+/.test(child.text) || child.exitCode !== null);
    if (child.exitCode !== null) throw new Error(child.text);
    const url = /https?:\/\/[0-9.]+:\d+/.exec(child.text)[0];
    await until('readiness', answers(`${url}/readyz`));
    await until('a first look', async () => (await observedAt(url)) > 0);
    await sleep(5000);
    const [slurmctld] = readFileSync(join(where, 'run/slurmctld.pid'), 'utf8').split(' ');
    const before = { ours: cpuMs(child.pid), theirs: cpuOf(slurmctld) };
    const seen = new Set();
    for (const end = Date.now() + 30000; Date.now() < end; await sleep(100)) seen.add(await observedAt(url));
    const each = { ours: (cpuMs(child.pid) - before.ours) / seen.size, theirs: (cpuOf(slurmctld) - before.theirs) / seen.size };
    await stop(child);
    return { ...each, looks: seen.size };
  } finally {
    lab('stop', where);
  }
}

export async function slurm() {
  await faultToDrain();
  const of = [];
  for (const nodes of [50, 500]) {
    const { ours, theirs, looks } = await look(nodes);
    of.push(ours);
    say(`one look at Slurm, ${number(nodes)} nodes: processor time of hpd with scontrol`, `${ours.toFixed(1)} ms`,
        `slurmctld ${theirs.toFixed(1)} ms; ${number(looks)} looks`);
  }
  say('  ten times the nodes cost', `${(of[1] / of[0]).toFixed(1)} times as much`);
}
