// What a real Slurm adds: a fault line's way to the drain in Slurm and to the step that runs again, and what one look at its nodes
// costs as they become many.
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { answers, build, cpuMs, dir, load, number, quantile, say, seeded, start, stop, until } from './lib.mjs';

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
const LOOK_MS = 30000;
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
  Number(/^holdfast_scheduler_observed_timestamp_seconds\{scheduler="slurm"\} (\S+)/m.exec(await (await fetch(`${url}/metrics`)).text())[1]);

const bench = (i) => `bench-${String(i).padStart(6, '0')}`;

/** What slurmctld has been asked so far, by kind: all but what its own node daemons send, and sdiag itself. */
function asked(scontrol) {
  const kinds = scontrol('sdiag').split('Remote Procedure Call statistics by user')[0].matchAll(/^\s*(REQUEST_\w+)\s+\(.*?\) count:(\d+)/gm);
  return new Map([...kinds].map(([, kind, count]) => [kind, Number(count)]).filter(([kind]) => !/REQUEST_(STATS_INFO|COMPLETE_.*|PING)$/.test(kind)));
}

/** Nodes by what Slurm says of them. */
const unlike = (scontrol, state) => scontrol('sinfo', '-h', '-N', '-o', '%N %t').split('\n').filter((line) => line && !line.endsWith(` ${state}`));

/** hpd, slurmctld and so many nodes, a slurmd each: what a look costs, a look each second, and what a fault of one of them does. */
async function look(nodes) {
  const where = join(dir, `slurm-${nodes}`);
  const began = Date.now();
  process.env.LAB_SLURMD_TIMEOUT = '120'; // none is to be called silent for being one of so many on this machine
  lab('start', where, '--nodes', `bench-[000000-${bench(nodes - 1).slice(6)}]`);
  try {
    const upMs = Date.now() - began;
    const scontrol = (...args) => spawnSync(args[0], args.slice(1), { encoding: 'utf8', env: { ...process.env, SLURM_CONF: join(where, 'slurm.conf') } }).stdout;
    const { state, file } = seeded(nodes, `looked-${nodes}`, nodes, 'slurm');
    const config = join(dir, `looked-${nodes}.yaml`);
    writeFileSync(config, JSON.stringify({
      agents: { heartbeatInterval: '10s', silentAfter: '1h' }, slurm: { conf: join(where, 'slurm.conf'), jobSnapshotInterval: '0s' }, recovery: { observeInterval: '1s' },
    }));
    const child = start(join(build, 'hpd'), ['--state-dir', state, '--listen', '127.0.0.1:0', '--config', config]);
    await until('hpd', () => /https?:\/\/[0-9.]+:\d+/.test(child.text) || child.exitCode !== null);
    if (child.exitCode !== null) throw new Error(child.text);
    const url = /https?:\/\/[0-9.]+:\d+/.exec(child.text)[0];
    await until('readiness', answers(`${url}/readyz`));
    await until('a first look', async () => (await observedAt(url)) > 0);
    await sleep(5000);
    const [slurmctld] = readFileSync(join(where, 'run/slurmctld.pid'), 'utf8').split(' ');
    const before = { ours: cpuMs(child.pid), theirs: cpuOf(slurmctld), asked: asked(scontrol) };
    const seen = new Set();
    for (const end = Date.now() + LOOK_MS; Date.now() < end; await sleep(100)) seen.add(await observedAt(url));
    const each = { ours: (cpuMs(child.pid) - before.ours) / seen.size, theirs: (cpuOf(slurmctld) - before.theirs) / seen.size };
    const kinds = [...asked(scontrol)].map(([kind, count]) => [kind, Math.round((count - (before.asked.get(kind) ?? 0)) / seen.size)]).filter(([, count]) => count > 0);
    const wrong = unlike(scontrol, 'idle');
    if (wrong.length > 0) throw new Error(`before any fault: ${wrong.join(', ')}`);
    await oneFails(url, file, scontrol);
    await stop(child);
    return { ...each, looks: seen.size, asked: kinds.map(([kind, count]) => `${count} ${kind}`).sort().join(', '), upMs };
  } finally {
    lab('stop', where);
  }
}

/** The first node's GPU falls off the bus: it is drained, and no other. */
async function oneFails(url, file, scontrol) {
  const one = `${file}.one`;
  writeFileSync(one, `${readFileSync(file, 'utf8').split('\n')[0]}\n`);
  load({ mode: 'verdict', xid: 79, port: new URL(url).port, nodes: one, connections: 1, rate: 1, seconds: 1 });
  await until('the drain', () => unlike(scontrol, 'idle').length > 0);
  const at = await observedAt(url);
  await until('two looks after it', async () => (await observedAt(url)) > at + 2);
  const out = unlike(scontrol, 'idle');
  if (out.length !== 1 || !out[0].startsWith(`${bench(0)} `)) throw new Error(`a fault of ${bench(0)} took ${out.join(', ')}`);
}

export async function slurm() {
  await faultToDrain();
  await faultToStep();
  const of = [];
  for (const nodes of [8, 50, 500]) {
    const cost = await look(nodes);
    of.push(cost);
    say(`one look at Slurm, ${number(nodes)} nodes: processor time of hpd with scontrol`, `${cost.ours.toFixed(1)} ms`,
        `slurmctld ${cost.theirs.toFixed(1)} ms; ${number(cost.looks)} looks; a slurmd each, up in ${(cost.upMs / 1000).toFixed(0)} s`);
  }
  const [few, , many] = of;
  if (few.asked !== many.asked) throw new Error(`a look at 8 nodes asks ${few.asked}, one at 500 asks ${many.asked}`);
  say('  what a look asks slurmctld, at 8 nodes and at 500', many.asked, 'by sdiag; a fault of one of them drained that one');
  say('  from 50 nodes on, ten times the nodes cost', `${(many.ours / of[1].ours).toFixed(1)} times as much`);
}
