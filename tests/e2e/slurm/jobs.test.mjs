// What people ask of batch jobs on a real Slurm: restart, suspend, resume, scale. Each is done once, also where hpd is killed, and what Slurm refuses is reported.
import assert from 'node:assert/strict';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { assertValid, operations } from '../api/contract.mjs';
import { World, until } from '../lib/world.mjs';

let world;
before(async () => {
  world = new World({ lab: [], cluster: false, recovery: { observeInterval: '200ms' } });
  world.options.config = { slurm: { conf: join(world.slurm, 'slurm.conf'), timeout: '10s', jobSnapshotInterval: '1s' } };
  await world.start();
  const file = join(world.dir, 'cluster.yaml');
  writeFileSync(file, JSON.stringify({ name: 'demo', instanceGroups: [{ name: 'workers', instanceCount: 4, nodeNames: 'gpu-[1-4]', provider: 'manual' }] }));
  assert.equal(world.hpctl('cluster', 'create', '-f', file).code, 0);
});
after(() => world?.end());

const squeue = (job, format) => world.slurmRun('squeue', '-h', '-a', '-t', 'all', '-j', job, '-o', format);
const state = (job) => squeue(job, '%T');
const submit = (...args) => world.slurmRun('sbatch', '--parsable', '-o', join(world.dir, 'job-%j.out'), '--open-mode=append', ...args, '--wrap', 'echo nodes $SLURM_NNODES restarts ${SLURM_RESTART_COUNT:-0}; sleep 600');
const out = (job) => join(world.dir, `job-${job}.out`);
const wrote = (job) => (existsSync(out(job)) ? readFileSync(out(job), 'utf8') : '');
const known = (job, ready) => until(`hpd sees ${job}`, () => world.json('job', 'list').find((j) => j.id === job && ready(j)));
const ask = (...words) => {
  const said = world.hpctl('job', ...words);
  assert.equal(said.code, 0, said.err);
  return said.out;
};
// Slurm lets a requeued job wait for two minutes. A part of that is left: Slurm takes a late report of the end of the start before for the end of
// the new one.
const REST_MS = 6000;
const begun = (job, restarts) => {
  let waitsSince = 0;
  return until(`start ${restarts} of ${job}`, () => {
    const waits = state(job) === 'PENDING' && !squeue(job, '%r').includes('Held');
    waitsSince = waits ? waitsSince || Date.now() : 0;
    if (waits && Date.now() - waitsSince > REST_MS) world.slurmRun('scontrol', 'update', `JobId=${job}`, 'StartTime=now');
    return wrote(job).includes(`restarts ${restarts}`);
  }, 180000);
};

test('a job is restarted, and its output says who asked', async () => {
  const job = submit('-N2');
  const runs = await known(job, (j) => j.state === 'RUNNING');
  assert.deepEqual(runs.commands, ['restart', 'suspend', 'resume', 'scale']);
  assertValid(operations.get('listJobs').responses['200'].content['application/json'].schema, { items: [runs] }, 'listJobs');
  await begun(job, 0);
  assert.match(ask('restart', job), /begins anew; see hpctl job describe/);
  await begun(job, 1);
  assert.match(wrote(job), /this job begins anew, as token:admin asked/);
  assert.match(world.hpctl('job', 'restart', job, '--pods').err, /has no pods/);
  world.slurmRun('scancel', job);
  await known(job, (j) => j.state === 'CANCELLED' && j.commands.length === 0);
  assert.match(world.hpctl('job', 'restart', job).err, /is over: it is CANCELLED/);
});

test('a suspended job leaves its nodes and waits until it is resumed; hpd is killed meanwhile', async () => {
  const job = submit('-N2');
  await known(job, (j) => j.state === 'RUNNING');
  ask('suspend', job);
  await world.killHpd();
  await world.startHpd();
  await until('it waits', () => state(job) === 'PENDING' && squeue(job, '%Q') === '0');
  await known(job, (j) => j.state === 'PENDING');
  ask('resume', job);
  await until('it is released', () => squeue(job, '%Q') !== '0');
  await begun(job, 1);
  world.slurmRun('scancel', job);
});

test('a job gets another number of nodes, with as many tasks on each', async () => {
  const job = submit('-N2', '--ntasks-per-node=2');
  await known(job, (j) => j.state === 'RUNNING' && j.nodeCount === 2);
  ask('scale', job, '1');
  await begun(job, 1);
  assert.match(wrote(job), /nodes 1 restarts 1/);
  await known(job, (j) => j.state === 'RUNNING' && j.nodeCount === 1);
  ask('scale', job, '2');
  await begun(job, 2);
  assert.match(wrote(job), /nodes 2 restarts 2/);
  assert.match(world.slurmRun('scontrol', 'show', 'job', job), /NumTasks=4 /);
  await known(job, (j) => j.state === 'RUNNING' && j.nodeCount === 2);
  // More nodes than there are: Slurm says what it makes of that, and the job is not lost.
  ask('scale', job, '900');
  await until('Slurm has refused it, or lets it wait', () => state(job) === 'PENDING' && squeue(job, '%Q') !== '0'
    || world.json('event', 'list', '--kind', 'operator-request').some((e) => e.message.includes(`"scale" of job ${job}, requested by token:admin, was refused: `)));
  world.slurmRun('scancel', job);
});

test('what cannot begin anew takes no command', async () => {
  const job = submit('-N1', '--no-requeue');
  const array = submit('-N1', '--array=1-3', '--hold');
  const [one, many] = [await known(job, (j) => j.state === 'RUNNING'), await known(array, (j) => j.tasks === 3)];
  assert.deepEqual([one.commands, many.commands], [[], []]);
  assert.match(world.hpctl('job', 'restart', job).err, /takes no commands here: .*Ask its scheduler/);
  assert.match(world.hpctl('job', 'suspend', array).err, /takes no commands here/);
  world.slurmRun('scancel', job, array);
});
