// srun --auto-resume where a real Slurm refuses to change a job, or changes another one: no job is lost that Slurm would have kept, and none
// that waits for nodes is left.
import assert from 'node:assert/strict';
import { appendFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { FELL_OFF, World, until } from '../lib/world.mjs';
import { JOB_MS, Steps, inOrder } from './steps.mjs';

let world;
let steps;

before(async () => {
  process.env.LAB_PROLOG_FLAGS = process.env.AUTO_RESUME_PROLOG_FLAGS ?? '';
  // The policy takes a node for unreachable after ten minutes: what a job waits less for is not its word.
  const agents = { heartbeatInterval: '1s', silentAfter: '5s', unreachableAfter: '10m' };
  world = new World({ recovery: { breakerMin: 100, replacesMax: 100 }, config: { agents } });
  world.wayConfig = () => ({ jobSnapshotInterval: '2s' });
  await world.start();
  world.allowAutoResume();
  steps = new Steps(world);
});
after(() => world?.end());

test('a task of an array that loses a node gets another one itself, and the tasks beside it are left alone', async () => {
  const array = steps.submit('tasks', { options: ['--array=1-2%1'] });
  const first = `${array}_1`;
  await steps.trains('tasks.1');
  await steps.isKnown(first);
  const lost = steps.other(first);
  world.kernel(lost, FELL_OFF);
  await steps.over(array, 'tasks.2');
  inOrder(steps.read('tasks.1.out'), [/ResumeAction=RETRYSTEP/, /Succesfully shrink job/, /Job Expansion complete/, /Attempt number: 1/, /attempt 1 from [1-9]/, /trained/, /srun ended 0/]);
  assert.match(steps.read('tasks.2.out'), /^attempt 0 from 0 .*\ntrained\nsrun ended 0\n$/, 'the other task');
  await steps.noHelper();
  await world.repaired(lost, 'reboot');
});

test('the last task of an array is requeued alone when the node of its batch script breaks', async () => {
  const array = steps.submit('last', { options: ['--array=1-2', '--exclusive'] });
  await steps.trains('last.1');
  await steps.trains('last.2');
  await steps.isKnown(`${array}_2`);
  const host = steps.batchHost(`${array}_2`);
  world.kernel(host, FELL_OFF);
  await steps.over(array, 'last.2');
  inOrder(steps.read('last.2.out'), [/the node of the batch script is lost: the job is requeued/, /attempt 0 from [1-9]/, /trained/, /srun ended 0/]);
  assert.equal(steps.read('last.1.out').match(/^attempt /gm).length, 1, 'the other task was left alone');
  await world.repaired(host, 'reboot');
});

test('a second fault of one job, which Slurm without slurmdbd cannot change again, has it requeued at once', async () => {
  const job = steps.submit('second', { steps: 150 });
  await steps.trains('second');
  await steps.isKnown(job);
  const first = steps.other(job);
  world.kernel(first, FELL_OFF);
  await until('it was resumed', () => /attempt 1 from [1-9]/.test(steps.read('second.out')), JOB_MS);
  await world.repaired(first, 'reboot');
  const next = steps.other(job);
  world.kernel(next, FELL_OFF);
  const text = await steps.over(job, 'second');
  const [, year] = /SLURM_VERSION\s*= (\d+)/.exec(world.slurmRun('scontrol', 'show', 'config'));
  if (Number(year) <= 22) inOrder(text, [/attempt 1 from/, /Job failed: the job cannot be shrunk: .*: the job is requeued/, /attempt 0 from [1-9]/, /trained/, /srun ended 0/]);
  else inOrder(text, [/attempt 1 from/, /Job Expansion complete/, /attempt 2 from [1-9]/, /trained/, /srun ended 0/]);
  await steps.noHelper();
  await world.repaired(next, 'reboot', next === first ? 1 : 0);
});

test('a node loses its power and the other ranks crash: the step goes on in the same job on another node', async () => {
  const job = steps.submit('power', { steps: 100 });
  await steps.trains('power');
  await steps.isKnown(job);
  const lost = steps.other(job);
  steps.powerOff(lost);
  appendFileSync(steps.file('power.crash'), '');
  const text = await steps.over(job, 'power');
  inOrder(text, [/ResumeAction=RETRYSTEP/, /Job Expansion complete/, /Attempt number: 1/, /attempt 1 from [1-9]/, /trained/, /srun ended 0/]);
  assert.equal(world.json('job', 'describe', job).restarts, 0);
  await steps.noHelper();
  assert.deepEqual(world.operations(lost).filter((o) => ['reboot', 'replace'].includes(o.kind) && o.actor === 'policy' && /unreachable/.test(o.code)), [], 'two that hear nothing were believed, and not the clock');
  assert.equal(world.hpctl('node', 'reboot', lost).code, 0);
  await until('its machine runs again', () => world.slurmNode(lost).state === 'IDLE' && world.node(lost).state === 'ready');
});

test('hp-auto-resume is killed between the grant and the merge: its helper job ends, and the job goes on', async () => {
  const conf = steps.file('auto-resume.conf'), before = readFileSync(conf, 'utf8'), scontrol = steps.file('scontrol'), merging = steps.file('merging');
  writeFileSync(scontrol, `#!/bin/bash
case "$*" in
*numnodes=0*) echo $PPID >${merging}.next && mv ${merging}.next ${merging} && exec sleep 600 ;;
*) exec scontrol "$@" ;;
esac
`, { mode: 0o755 });
  writeFileSync(conf, JSON.stringify({ ...JSON.parse(before), scontrol }));
  const goesOn = steps.file('goes-on');
  const job = steps.submit('killed', { steps: 100000, then: `until [ -e ${goesOn} ]; do sleep 0.2; done` });
  await steps.trains('killed');
  await steps.isKnown(job);
  const lost = steps.other(job);
  world.kernel(lost, FELL_OFF);
  await until('it merges', () => existsSync(merging), JOB_MS);
  const helpers = () => world.slurmRun('squeue', '-h', '-o', '%j %T %l').split('\n').filter((line) => line.startsWith('auto-resume-'));
  assert.match(helpers().join('\n'), /^auto-resume-\S+ RUNNING 5:00$/, 'Slurm itself would end it soon');
  process.kill(Number(readFileSync(merging, 'utf8')), 'SIGKILL');
  await steps.noHelper();
  await until('its line is there', () => /srun ended 137/.test(steps.read('killed.out')) && /Job \d+, which waited for a node, is cancelled: hp-auto-resume was killed/.test(steps.read('killed.out')));
  assert.equal(world.slurmRun('squeue', '-h', '-j', job, '-o', '%T'), 'RUNNING');
  writeFileSync(conf, before);
  writeFileSync(goesOn, '');
  await steps.over(job, 'killed');
  await world.repaired(lost, 'reboot');
});

test('a step that makes way writes a last checkpoint, and is run again though it ended with 0', async () => {
  const done = steps.file('asked.done');
  writeFileSync(steps.file('asked.step'), `#!/bin/bash
if [ "$HOLDFAST_AUTO_RESUME_ATTEMPT" != 0 ]; then echo "attempt $HOLDFAST_AUTO_RESUME_ATTEMPT goes on"; exit 0; fi
trap 'sleep 3; echo "rank $SLURM_PROCID has written its last checkpoint"; exit 0' TERM
touch ${done}.$SLURM_PROCID
while :; do sleep 0.2; done
`, { mode: 0o755 });
  writeFileSync(steps.file('asked.sh'), `#!/bin/bash\nsrun --auto-resume=1 -N2 -n2 ${steps.file('asked.step')}\necho "srun ended $?"\n`, { mode: 0o755 });
  const job = world.slurmRun('sbatch', '--parsable', '--no-kill', '-N2', '-o', steps.file('asked.out'), steps.file('asked.sh'));
  await until('it runs', () => existsSync(`${done}.0`) && existsSync(`${done}.1`), JOB_MS);
  await steps.isKnown(job);
  const lost = steps.other(job);
  world.kernel(lost, FELL_OFF);
  const text = await steps.over(job, 'asked');
  inOrder(text, [/is about to be repaired/, /has written its last checkpoint/, /has written its last checkpoint/, /ResumeAction=RETRYSTEP/, /Attempt number: 1/, /attempt 1 goes on/, /srun ended 0/]);
  await world.repaired(lost, 'reboot');
});

test('a task that fails ends the step at once, though the others go on', async () => {
  // It fails once the other runs, whose end this is about.
  writeFileSync(steps.file('alone.sh'), `#!/bin/bash\nsrun --auto-resume=1 -N2 -n2 bash -c '[ "$SLURM_PROCID" = 0 ] || { touch ${steps.file('alone.begun')}; exec sleep 100000; }; until [ -e ${steps.file('alone.begun')} ]; do sleep 0.1; done; exit 9'\necho "srun ended $?"\n`, { mode: 0o755 });
  const job = world.slurmRun('sbatch', '--parsable', '--no-kill', '-N2', '-o', steps.file('alone.out'), steps.file('alone.sh'));
  const text = await steps.over(job, 'alone');
  inOrder(text, [/ResumeAction=NONE/, /no node is at fault/, /srun ended/]);
  assert.doesNotMatch(text, /replacing nodes/);
});

test('jobs with whole nodes where GresTypes is set, which Slurm cannot merge, are requeued', async () => {
  const file = join(world.slurm, 'slurm.conf');
  appendFileSync(file, 'GresTypes=gpu\n');
  // In good order: a slurmctld that is killed takes a job that has just ended for one that runs.
  const [pid] = readFileSync(join(world.slurm, 'run/slurmctld.pid'), 'utf8').split(' ');
  world.slurmRun('scontrol', 'shutdown', 'slurmctld');
  await until('slurmctld has ended', () => !existsSync(`/proc/${pid}`) || /^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8')));
  world.lab('end', world.slurm, 'slurmctld');
  world.lab('begin', world.slurm, 'slurmctld');
  await until('slurmctld is back', () => world.states().filter((state) => state === 'idle').length >= 3);
  const job = steps.submit('whole', { steps: 60, options: ['--exclusive'] });
  await steps.trains('whole');
  await steps.isKnown(job);
  const lost = steps.other(job);
  world.kernel(lost, FELL_OFF);
  const text = await steps.over(job, 'whole');
  inOrder(text, [/ResumeAction=RETRYSTEP/, /Job failed: Slurm merges no jobs with whole nodes where GresTypes is set: the job is requeued/, /attempt 0 from [1-9]/, /trained/, /srun ended 0/]);
  await steps.noHelper();
});
