// What a real Slurm adds: a fault line's way to the drain in Slurm and to the step that runs again, and what one look at its nodes
// costs as they become many.
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
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

// --- from the kernel's line to the step that runs again -----------------------------------------------------------

const RESUMES = 6;

/**
 * A job of two nodes, the first two that are not taken by others, loses the second of them while spares are idle: the milliseconds until its
 * step runs again in the same job.
 */
async function resumed(world, taken) {
  const at = (attempt) => join(world.dir, `resumed-${taken}.${attempt}`);
  const filler = taken > 0 && world.slurmRun('sbatch', '--parsable', '--exclusive', '-w', `gpu-[1-${taken}]`, '-o', '/dev/null', '--wrap', 'sleep 3600');
  if (filler) await becomes('others have theirs', () => world.slurmRun('squeue', '-h', '-j', filler, '-o', '%T') === 'RUNNING');
  const step = `bash -c '[ $SLURM_PROCID != 0 ] || touch ${at('$HOLDFAST_AUTO_RESUME_ATTEMPT')}; exec sleep 3600'`;
  const job = world.slurmRun('sbatch', '--parsable', '--no-kill', '--exclusive', '-N2', '-n2', '-o', '/dev/null', '--wrap', `srun --auto-resume=1 -N2 -n2 ${step}`);
  await becomes('it runs', () => existsSync(at(0)));
  await becomes('hpd knows of it', () => world.json('job', 'describe', job).attempts.length > 0);
  await sleep(Math.random() * 5000); // anywhere between two of its asks
  const lost = `gpu-${taken + 2}`;
  const path = join(world.dir, 'instances', world.node(lost).instanceId, 'kmsg');
  const from = process.hrtime.bigint();
  writeFileSync(path, `${FELL_OFF}\n`, { flag: 'a' });
  await until(`${lost} is replaced in job ${job}`, () => existsSync(at(1)), 120000, 10);
  const took = Number(process.hrtime.bigint() - from) / 1e6;
  const now = world.slurmRun('scontrol', 'show', 'hostnames', world.slurmRun('squeue', '-h', '-j', job, '-o', '%N')).split('\n');
  if (now.length !== 2 || now.includes(lost)) throw new Error(`job ${job} has ${now.join()}: ${lost} was to be replaced`);
  for (const id of [job, filler].filter(Boolean)) world.slurmRun('scancel', id);
  await world.repaired(lost, 'reboot');
  await becomes('all idle', () => world.states().every((state) => state === 'idle'), 300000);
  return took;
}

async function faultToStep() {
  const world = await new World({ nodes: RESUMES + 2, recovery: { breakerMin: 100 } }).start();
  try {
    world.allowAutoResume({}); // with its defaults: a step asks every 5 s
    const took = [];
    for (let taken = 0; taken < RESUMES; taken++) took.push(await resumed(world, taken));
    say('fault line written to step running again, same job, idle spare', `p50 ${(quantile(took, 0.5) / 1000).toFixed(1)} s`,
        `${number(took.length)} faults, most ${(Math.max(...took) / 1000).toFixed(1)} s; a step asks every 5 s; all nodes on one machine`);
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
  await faultToStep();
  const of = [];
  for (const nodes of [50, 500]) {
    const { ours, theirs, looks } = await look(nodes);
    of.push(ours);
    say(`one look at Slurm, ${number(nodes)} nodes: processor time of hpd with scontrol`, `${ours.toFixed(1)} ms`,
        `slurmctld ${theirs.toFixed(1)} ms; ${number(looks)} looks`);
  }
  say('  ten times the nodes cost', `${(of[1] / of[0]).toFixed(1)} times as much`);
}
