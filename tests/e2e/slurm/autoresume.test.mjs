// srun --auto-resume against a real Slurm, hpd and agents: a step whose node breaks goes on in the same job on another node, and what
// is no fault of a node ends as without it. The plugin is the built one, loaded by the lab's own plugstack.conf.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { after, before, test } from 'node:test';
import { hpdPath } from '../lib/programs.mjs';
import { FELL_OFF, World, until } from '../lib/world.mjs';

const JOB_MS = 240000;
let world;
let conf;
let plugin;
let contained; // by cgroups

/** As slurmd would, in each hierarchy that its plugins use. */
function mayMakeCgroups() {
  const made = [];
  try {
    for (const controller of ['freezer', 'cpuset', 'memory', 'devices']) {
      const place = `/sys/fs/cgroup/${controller}/holdfast-probe-${process.pid}`;
      mkdirSync(place);
      made.push(place);
    }
    return true;
  } catch {
    return false;
  } finally {
    for (const place of made) rmdirSync(place);
  }
}

before(async () => {
  // What HyperPod refuses to resume jobs under. That slurmd contains jobs by cgroups takes a machine that lets it.
  contained = process.env.AUTO_RESUME_CGROUPS !== 'no' && mayMakeCgroups();
  const cgroups = contained ? { LAB_CGROUP: 'yes' } : {};
  console.log(`# jobs are contained by ${contained ? 'cgroups' : 'process groups: this machine lets nobody make cgroups of version 1'}`);
  Object.assign(process.env, { LAB_PROLOG_FLAGS: process.env.AUTO_RESUME_PROLOG_FLAGS ?? 'Alloc,Contain', LAB_TASK_PLUGIN: 'task/affinity', LAB_GPUS: '2', ...cgroups });
  world = new World({ recovery: { breakerMin: 100, replacesMax: 100 } }); // four slots for all these faults
  world.wayConfig = () => ({ jobSnapshotInterval: '2s' }); // what nobody is left to end is found there
  await world.start();
  const build = dirname(hpdPath);
  conf = join(world.dir, 'auto-resume.conf');
  plugin = `optional ${join(build, 'holdfast_auto_resume.so')} helper=${join(build, 'hp-auto-resume')} conf=${conf} append\n`;
  writeFileSync(join(world.slurm, 'plugstack.conf'), plugin);
  const file = join(world.slurm, 'slurm.conf');
  writeFileSync(file, readFileSync(file, 'utf8').replace(/^SchedulerParameters=.*/m, '$&,permit_job_expansion'));
  world.slurmRun('scontrol', 'reconfigure');
  configure();
});
after(() => world?.end());

function configure(more = {}) {
  world.jobToken ??= world.json('token', 'create', '--role', 'job', '--name', 'steps').secret;
  writeFileSync(conf, JSON.stringify({ url: world.url, cluster: 'demo', token: world.jobToken, pollInterval: '500ms', ...more }));
}

// A training in small: a counter on shared disk that grows by one every 200 ms to the last step, from where it stood.
function writeStep(name, steps, body = '') {
  const dir = world.dir;
  writeFileSync(join(dir, `${name}.step`), `#!/bin/bash
if [ "$SLURM_PROCID" != 0 ]; then
  until [ -e ${dir}/${name}.done ]; do sleep 0.2; done
  exit 0
fi
at=$(cat ${dir}/${name}.checkpoint 2>/dev/null || echo 0)
echo "attempt $HOLDFAST_AUTO_RESUME_ATTEMPT from $at on $SLURM_STEP_NODELIST"
while [ "$at" -lt ${steps} ]; do
  at=$((at + 1))
  echo $at >${dir}/${name}.next && mv ${dir}/${name}.next ${dir}/${name}.checkpoint
  ${body}
  sleep 0.2
done
echo trained
touch ${dir}/${name}.done
`, { mode: 0o755 });
}
function write(name, { srun, steps, options = [], body = '' }) {
  const dir = world.dir;
  writeStep(name, steps, body);
  writeFileSync(join(dir, `${name}.sh`), `#!/bin/bash\n${srun}\necho "srun ended $?"\n`, { mode: 0o755 });
  return world.slurmRun('sbatch', '--parsable', '--no-kill', '-N2', '-D', dir, '-o', join(dir, `${name}.out`), ...options, join(dir, `${name}.sh`));
}

const output = (name) => (existsSync(join(world.dir, `${name}.out`)) ? readFileSync(join(world.dir, `${name}.out`), 'utf8') : '');
const checkpoint = (name) => Number(existsSync(join(world.dir, `${name}.checkpoint`)) ? readFileSync(join(world.dir, `${name}.checkpoint`), 'utf8') : 0);
const state = (job) => world.slurmRun('squeue', '-h', '-a', '-t', 'all', '-j', job, '-o', '%T');
const over = (job, name) => until(`job ${job} is over`, () => ['COMPLETED', 'FAILED', 'CANCELLED', 'TIMEOUT'].includes(state(job)) && output(name) !== '', JOB_MS);
// Once a job snapshot has seen the job.
const described = (job) => until(`job ${job} was seen`, () => world.json('job', 'describe', job));
// The lines that the plugin prints, in this order, with whatever stands between them.
function inOrder(text, patterns) {
  let from = 0;
  for (const pattern of patterns) {
    const found = pattern.exec(text.slice(from));
    assert.ok(found, `${pattern} in:\n${text}`);
    from += found.index + found[0].length;
  }
}

test('the option has help, and a value that it does not know is refused', () => {
  assert.match(world.run('srun', '--help').out, /--auto-resume=MODE/);
  for (const value of ['2', 'crash:0', 'crash:x', '1,1', '', 'yes', '0,crash:2']) {
    const run = world.run('srun', `--auto-resume=${value}`, '-N1', 'true');
    assert.notEqual(run.code, 0, value);
    if (value !== '') assert.match(run.err, /is none of 0, 1, crash:N/, value);
  }
  assert.match(world.run('sbatch', '--auto-resume=1', '--wrap', 'true').err, /unrecognized option '--auto-resume=1'/);
  assert.equal(world.run('srun', '--auto-resume=0', '-N1', 'true').code, 0);
  const outside = world.run('srun', '--auto-resume=1', '-N1', 'bash', '-c', 'exit 3');
  assert.equal(outside.code, 3);
  assert.match(outside.err, /takes an allocation of sbatch or salloc.*: the step runs once/);
});

test('the helper is never looked for in the directory where the user is', () => {
  for (const helper of ['', 'helper=hp-auto-resume']) {
    writeFileSync(join(world.slurm, 'plugstack.conf'), plugin.replace(/helper=\S+/, helper));
    const run = world.run('srun', '--auto-resume=1', '-N1', 'bash', '-c', 'exit 4');
    assert.match(run.err, /plugstack\.conf says no helper=\/PATH: the step runs once/);
    assert.equal(run.code, 4);
  }
  writeFileSync(join(world.slurm, 'plugstack.conf'), plugin);
});

test('a node that breaks is replaced in the running job, and the step goes on from its checkpoint', async () => {
  const job = write('xid', { srun: `srun --auto-resume=1 -N2 -n2 ${world.dir}/xid.step`, steps: 60 });
  await until('it trains', () => checkpoint('xid') > 3);
  const nodes = world.slurmRun('scontrol', 'show', 'hostnames', world.slurmRun('squeue', '-h', '-j', job, '-o', '%N')).split('\n');
  world.kernel(nodes[1], FELL_OFF); // no task ends by it: hpd asks the step to make way
  await until('it trains again', () => /Retrying step/.test(output('xid')), JOB_MS);
  await over(job, 'xid');
  const text = output('xid');
  inOrder(text, [
    /Initiating communication with cluster agent to diagnose health of nodes/,
    new RegExp(`\\[Auto Resume\\] Info: JobID: ${job} StepID: 0 Response from cluster agent: JobId=${job}, ResumeAction=RETRYSTEP`),
    /Job failed - replacing nodes/,
    /Job failed - Droping unhealthy nodes/,
    new RegExp(`Succesfully shrink job to retain healthy nodes ${nodes[0]}\n`),
    /Job Expansion complete/,
    /Updating to new node list \S+/,
    /Retrying step\. Attempt number: 1/,
    /attempt 1 from [1-9]/,
    /trained/,
  ]);
  assert.doesNotMatch(text, /attempt 1 .*CANCELLED/);
  const seen = await described(job);
  assert.deepEqual(seen.attempts.map((a) => [a.attempt, a.state]), [[0, 'failed'], [1, 'ended']]);
  assert.equal(seen.attempts[0].resumeAction, 'RETRYSTEP');
  assert.match(seen.attempts[0].reason, new RegExp(`^${nodes[1]}: `));
  assert.ok(seen.attempts[0].lostMs > 0);
  assert.match(world.hpctl('job', 'describe', job).out, /Attempts at its steps[\s\S]*RETRYSTEP|Attempts at its steps[\s\S]*failed/);
  assert.equal(seen.restarts, 0, 'the same job all along');
  assert.deepEqual(readdirSync(world.dir).filter((name) => /^slurm_job_\d+_resize/.test(name)), [], 'nothing is left where the job was submitted');
  await world.repaired(nodes[1], 'reboot');
});

test('where Slurm starts no step on a node that comes later, the whole job is requeued', async (t) => {
  const [, year] = /SLURM_VERSION\s*= (\d+)/.exec(world.slurmRun('scontrol', 'show', 'config'));
  if (Number(year) <= 22 || process.env.AUTO_RESUME_PROLOG_FLAGS === '') return t.skip('this Slurm starts them');
  const job = write('late', { srun: `srun --auto-resume=1 -N2 -n2 ${world.dir}/late.step`, steps: 60 });
  await until('it trains', () => checkpoint('late') > 3);
  const nodes = world.slurmRun('scontrol', 'show', 'hostnames', world.slurmRun('squeue', '-h', '-j', job, '-o', '%N')).split('\n');
  world.kernel(nodes[1], FELL_OFF);
  await over(job, 'late');
  inOrder(output('late'), [/Job failed: Slurm starts no step on a node that comes later \(PrologFlags\): the job is requeued/, /attempt 0 from [1-9]/, /trained/, /srun ended 0/]);
  await world.repaired(nodes[1], 'reboot');
  assert.doesNotMatch(world.slurmRun('sinfo', '-h', '-N', '-o', '%t'), /drain|down/, 'no node is lost for it');
});

test('hpd knows of a step from its beginning, however long it is until the next look at it', async () => {
  configure({ pollInterval: '1m' });
  const job = write('brief', { srun: `srun --auto-resume=1 -N2 -n2 ${world.dir}/brief.step`, steps: 15 });
  await over(job, 'brief');
  configure();
  const [attempt] = (await described(job)).attempts;
  assert.equal(attempt.state, 'ended');
  assert.ok(Date.parse(attempt.startedAt) < Date.parse(attempt.endedAt), 'it was told of before its end');
});

test('where the node of the batch script breaks the job is requeued, and its output appended', async () => {
  const job = write('head', { srun: `srun --auto-resume=1 -N2 -n2 ${world.dir}/head.step`, steps: 60 });
  await until('it trains', () => checkpoint('head') > 3);
  const host = world.slurmRun('squeue', '-h', '-j', job, '-o', '%B');
  world.kernel(host, FELL_OFF);
  await until('it runs again', () => /attempt 0 from [1-9]/.test(output('head')), JOB_MS);
  await over(job, 'head');
  inOrder(output('head'), [/attempt 0 from 0/, /ResumeAction=RETRYSTEP/, /Job failed: the node of the batch script is lost: the job is requeued/, /attempt 0 from [1-9]/, /trained/, /srun ended 0/]);
  const seen = await described(job);
  assert.deepEqual(seen.attempts.map((a) => [a.restart, a.attempt]), [[0, 0], [1, 0]]);
});

test('a broken node that Slurm still gives away is kept out of a requeue, beside what its user excluded', async () => {
  const scontrol = join(world.dir, 'scontrol');
  writeFileSync(scontrol, `#!/bin/bash
case "$*" in *'show node'*) echo 'NodeName=x State=IDLE ' ;; *) exec scontrol "$@" ;; esac
`, { mode: 0o755 });
  configure({ scontrol });
  const job = write('given', { srun: `srun --auto-resume=1 -N2 -n2 ${world.dir}/given.step`, steps: 60, options: ['-x', 'gpu-1'] });
  await until('it trains', () => checkpoint('given') > 3);
  const host = world.slurmRun('squeue', '-h', '-j', job, '-o', '%B');
  world.kernel(host, FELL_OFF);
  await until('it runs again', () => /attempt 0 from [1-9]/.test(output('given')), JOB_MS);
  await over(job, 'given');
  configure();
  const excluded = /ExcNodeList=(\S+)/.exec(world.slurmRun('scontrol', '-o', 'show', 'job', job))[1];
  const names = world.slurmRun('scontrol', 'show', 'hostnames', excluded).split('\n').sort();
  // By cgroups the step's keeper is killed with the requeue, perhaps before it has said so (hp-auto-resume(8)); its user's stays in any case.
  if (contained && names.length === 1) assert.deepEqual(names, ['gpu-1']);
  else assert.deepEqual(names, ['gpu-1', host].sort());
  assert.doesNotMatch(output('given'), /cannot be kept off/);
});

test('a job with GPUs (GRES) is requeued as a whole, with its output appended; where that is forbidden it ends, which is said', async () => {
  const job = write('gres', { srun: `srun --auto-resume=1 -N2 -n2 ${world.dir}/gres.step`, steps: 60, options: ['--gres=gpu:1'] });
  const rigid = write('rigid', { srun: `srun --auto-resume=1 -N2 -n2 ${world.dir}/rigid.step`, steps: 100000, options: ['--exclusive', '--no-requeue'] });
  await until('they train', () => checkpoint('gres') > 3 && checkpoint('rigid') > 3);
  const nodes = (id) => world.slurmRun('scontrol', 'show', 'hostnames', world.slurmRun('squeue', '-h', '-j', id, '-o', '%N')).split('\n');
  const lost = nodes(rigid)[1];
  world.kernel(nodes(job)[1], FELL_OFF);
  if (!nodes(job).includes(lost)) world.kernel(lost, FELL_OFF);
  await over(rigid, 'rigid');
  inOrder(output('rigid'), [/ResumeAction=RETRYSTEP/, /Slurm cannot change which GPUs \(GRES\) a job has, and requeueing is forbidden/, /srun ended [1-9]/]);
  await over(job, 'gres');
  inOrder(output('gres'), [/attempt 0 from 0/, /ResumeAction=RETRYSTEP/, /Slurm cannot change which GPUs \(GRES\) a job has: the job is requeued/, /attempt 0 from [1-9]/, /trained/, /srun ended 0/]);
  assert.deepEqual((await described(job)).attempts.map((a) => [a.restart, a.attempt]), [[0, 0], [1, 0]]);
});

test('two steps of one job that lose the same node both go on, and the job gets one node for it', async () => {
  const dir = world.dir;
  const step = (name) => `srun --auto-resume=1 --overlap -N2 -n2 ${dir}/${name}.step`;
  writeFileSync(join(dir, 'right.step'), `#!/bin/bash
until [ -e ${dir}/left.done ]; do sleep 0.2; done
echo "right ended in attempt $HOLDFAST_AUTO_RESUME_ATTEMPT"
`, { mode: 0o755 });
  const job = write('left', { srun: `${step('left')} & sleep 1; ${step('right')} & wait`, steps: 60 });
  await until('it trains', () => checkpoint('left') > 8);
  const nodes = world.slurmRun('scontrol', 'show', 'hostnames', world.slurmRun('squeue', '-h', '-j', job, '-o', '%N')).split('\n');
  world.kernel(nodes[1], FELL_OFF);
  await over(job, 'left');
  const text = output('left');
  assert.match(text, /attempt 1 from [1-9]/);
  assert.match(text, /right ended in attempt 1/);
  assert.equal(text.match(/Job Expansion complete/g).length, 1, text);
  const seen = await until('its end was seen', () => { const now = world.json('job', 'describe', job); return now.endedAt && now; });
  assert.deepEqual(seen.attempts.map((a) => [a.step, a.attempt, a.state]), [[0, 0, 'failed'], [0, 1, 'ended'], [1, 0, 'failed'], [1, 1, 'ended']]);
  assert.ok(seen.goodput.share > 0 && seen.goodput.share < 1, JSON.stringify(seen.goodput)); // what is lost may be less than a second
  assert.ok(seen.repairs.some((r) => r.node === nodes[1]), 'the repair of the node that was dropped');
  await world.repaired(nodes[1], 'reboot');
});

test('a job that waits for another node says so, and leaves nothing behind when it is cancelled', async () => {
  const job = write('waits', { srun: `srun --auto-resume=1 -N4 -n4 ${world.dir}/waits.step`, steps: 100000, options: ['-N4'] });
  await until('it trains', () => checkpoint('waits') > 3);
  const host = world.slurmRun('squeue', '-h', '-j', job, '-o', '%B');
  const node = ['gpu-1', 'gpu-2', 'gpu-3', 'gpu-4'].find((name) => name !== host);
  const partition = `partition=${world.slurmRun('squeue', '-h', '-j', job, '-o', '%P')}`;
  world.slurmRun('scontrol', 'update', partition, 'state=DOWN'); // nobody gets a node
  world.kernel(node, FELL_OFF);
  const seen = await until('it waits', () => { const now = world.json('job', 'describe', job); return now.attempts[0]?.state === 'waiting' && now; }, JOB_MS);
  assert.ok(Date.parse(seen.attempts[0].waitsSince) >= Date.parse(seen.attempts[0].endedAt));
  assert.match(world.hpctl('job', 'describe', job).out, /Waits for a replacement since +20/);
  world.slurmRun('scancel', job);
  await until('nothing is left', () => world.slurmRun('squeue', '-h', '-o', '%i %j') === '');
  world.slurmRun('scontrol', 'update', partition, 'state=UP');
  // By cgroups slurmd kills the step's keeper, mostly before that has ended the helper job: then hpd does, and says so.
  const told = world.events({ kind: 'jobs' }).filter((event) => event.message.includes(`waited for nodes for job ${job}, is cancelled`));
  assert.ok(told.length <= (contained ? 1 : 0), JSON.stringify(told));
  await world.repaired(node, 'reboot');
});

// A shell, or salloc itself, that a person has: what it says, and the pid of the srun in it, which is the plugin's once that took over.
function attend(command, ...args) {
  const child = spawn(command, args, { cwd: world.dir, env: { ...process.env, ...world.env, SHELL: '/bin/bash' } });
  const it = { child, text: '', type: (line) => child.stdin.write(line), ended: new Promise((done) => child.on('close', done)) };
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (data) => { it.text += data; });
  return it;
}
function attendedStep(name, steps) {
  writeStep(name, steps);
  writeFileSync(join(world.dir, `${name}.sh`), `#!/bin/bash\necho $$ >${world.dir}/${name}.pid\nexec srun --auto-resume=1 -N2 -n2 ${world.dir}/${name}.step\n`, { mode: 0o755 });
  return { script: join(world.dir, `${name}.sh`), pid: () => Number(readFileSync(join(world.dir, `${name}.pid`), 'utf8')) };
}
const jobNamed = (name) => world.slurmRun('squeue', '-h', '-n', name, '-o', '%i');
const nodesOf = (job) => world.slurmRun('scontrol', 'show', 'hostnames', world.slurmRun('squeue', '-h', '-j', job, '-o', '%N')).split('\n');
const lives = (pid) => world.run('kill', '-0', String(pid)).code === 0;

test('in the shell of salloc a step lives on, even without the first node; Ctrl-C twice ends it, and the shell goes on', async () => {
  const step = attendedStep('shell', 60);
  const endless = attendedStep('endless', 100000);
  const shell = attend('script', '-qefc', 'salloc --no-kill -N2 -J shell', '/dev/null');
  try {
    const job = await until('it has nodes', () => nodesOf(jobNamed('shell')).length === 2 && jobNamed('shell'));
    shell.type(`${step.script}\n`);
    await until('it trains', () => checkpoint('shell') > 3);
    const [first] = nodesOf(job);
    world.kernel(first, FELL_OFF);
    await until('it is trained', () => /^trained/m.test(shell.text), JOB_MS);
    inOrder(shell.text, [/ResumeAction=RETRYSTEP/, /Job Expansion complete/, /Attempt number: 1/, /attempt 1 from [1-9]/, /trained/]);
    assert.ok(!nodesOf(job).includes(first));
    await until('the shell is back', () => !lives(step.pid()));
    shell.type(`${endless.script}\n`);
    await until('the next one trains', () => checkpoint('endless') > 3);
    await until('it is ended', () => { shell.type('\x03'); return !lives(endless.pid()); });
    // Again and again: a terminal forgets what was typed before its last Ctrl-C.
    await until('the shell goes on', () => { shell.type('echo "the shell has $((6 * 7))"\n'); return /the shell has 42/.test(shell.text); });
    assert.match(shell.text, /interrupt \(one more within 1 sec to abort\)/);
    assert.equal(shell.text.match(/Retrying step/g).length, 1);
    shell.type('exit\n');
    await until('the allocation is over', () => world.slurmRun('squeue', '-h', '-o', '%i %j') === '');
    await world.repaired(first, 'reboot');
  } finally {
    shell.child.kill();
    await shell.ended;
  }
});

test('a command of salloc: one SIGINT only tells how it is, one while it waits for a node ends it, and no job is left', async () => {
  const step = attendedStep('asked', 100000);
  const salloc = attend('salloc', '--no-kill', '-N2', '-J', 'asked', step.script);
  const partition = 'partition=dev';
  try {
    await until('it trains', () => checkpoint('asked') > 3);
    process.kill(step.pid(), 'SIGINT');
    await until('it tells', () => /interrupt \(one more within 1 sec to abort\)/.test(salloc.text));
    const job = jobNamed('asked');
    const [, node] = nodesOf(job);
    world.slurmRun('scontrol', 'update', partition, 'state=DOWN'); // nobody gets a node
    world.kernel(node, FELL_OFF);
    await until('it waits', () => world.json('job', 'describe', job).attempts[0]?.state === 'waiting' && /auto-resume-/.test(world.slurmRun('squeue', '-h', '-o', '%j')), JOB_MS);
    process.kill(step.pid(), 'SIGINT');
    assert.notEqual(await salloc.ended, 0);
    inOrder(salloc.text, [/ResumeAction=RETRYSTEP/, /Succesfully shrink job/, /no node came to take the place/]);
    assert.doesNotMatch(salloc.text, /Retrying/);
    await until('nothing is left', () => world.slurmRun('squeue', '-h', '-o', '%i %j') === '');
    world.slurmRun('scontrol', 'update', partition, 'state=UP');
    await world.repaired(node, 'reboot');
  } finally {
    world.slurmRun('scontrol', 'update', partition, 'state=UP');
    salloc.child.kill();
    await salloc.ended;
  }
});

test('a step of a heterogeneous job runs once, which is said', async () => {
  writeFileSync(join(world.dir, 'het.sh'), `#!/bin/bash\nsrun --auto-resume=1 bash -c 'exit 5'\necho "srun ended $?"\n`, { mode: 0o755 });
  const job = world.slurmRun('sbatch', '--parsable', '-o', join(world.dir, 'het.out'), '-N1', ':', '-N1', join(world.dir, 'het.sh'));
  await until('it is over', () => /srun ended/.test(output('het')), JOB_MS);
  inOrder(output('het'), [/not heterogeneous: the step runs once/, /srun ended 5/]);
  assert.ok(job);
});

test('a crash of the program ends the step as without it', async () => {
  const job = write('crash', { srun: `srun --auto-resume=1 -N2 -n1 bash -c 'exit 7'`, steps: 1 });
  await over(job, 'crash');
  inOrder(output('crash'), [
    new RegExp(`^\\[Auto Resume\\] Error: JobID: ${job} StepID: 0 TaskID: [01] Task failed on node gpu-\\d$`, 'm'),
    new RegExp(`^\\[Auto Resume\\] Info: JobID: ${job} StepID: 0 Successfully terminated the step since task exited with status: 1792$`, 'm'),
    /ResumeAction=NONE/,
    /The step is not run again: no node is at fault/,
    /srun ended 7/,
  ]);
  assert.doesNotMatch(output('crash'), /Retrying/);
});

test('with crash:2 it is run twice more, and no more', async () => {
  const job = write('twice', { srun: `srun --auto-resume=crash:2 -N2 -n1 bash -c 'echo run $HOLDFAST_AUTO_RESUME_ATTEMPT; exit 7'`, steps: 1 });
  await over(job, 'twice');
  inOrder(output('twice'), [/run 0/, /crash 1 of 2/, /Attempt number: 1/, /run 1/, /Attempt number: 2/, /run 2/, /The step is not run again/, /srun ended 7/]);
  assert.equal(output('twice').match(/^run \d/gm).length, 3);
});

test('a step that makes no progress over three attempts stops, with that reason; one that does goes on', async () => {
  const mark = join(world.dir, 'progress');
  writeFileSync(mark, '');
  const stuck = write('stuck', { srun: `srun --auto-resume=crash:9,progress:${mark} -N2 -n1 bash -c 'echo run $HOLDFAST_AUTO_RESUME_ATTEMPT; exit 7'`, steps: 1 });
  await over(stuck, 'stuck');
  inOrder(output('stuck'), [/run 0/, /run 1/, /run 2/, /no progress over 3 attempts/, /srun ended 7/]);
  assert.equal(output('stuck').match(/^run \d/gm).length, 3);
  const moves = write('moves', { srun: `srun --auto-resume=crash:9,progress:${mark} -N2 -n1 bash -c 'echo run $HOLDFAST_AUTO_RESUME_ATTEMPT; sleep 0.1; date >>${mark}; [ $HOLDFAST_AUTO_RESUME_ATTEMPT -ge 4 ] || exit 7'`, steps: 1 });
  await over(moves, 'moves');
  assert.equal(output('moves').match(/^run \d/gm).length, 5);

  // A requeue begins no new count: two attempts before it, of which the second was told to end, and two after it.
  // It requeues its own job, which kills srun: only once srun has written the line that is asserted.
  const written = `for i in {1..600}; do grep -q "^run 1$" ${join(world.dir, 'anew.out')} && break; sleep 0.2; done`;
  const again = `echo run $HOLDFAST_AUTO_RESUME_ATTEMPT; [ -n "$SLURM_RESTART_COUNT" ] || [ $HOLDFAST_AUTO_RESUME_ATTEMPT -lt 1 ] || { ${written}; scontrol requeue $SLURM_JOB_ID; sleep 600; }; exit 7`;
  const anew = write('anew', { srun: `srun --auto-resume=crash:9,progress:${mark} -N2 -n1 bash -c '${again}'`, steps: 1 });
  await over(anew, 'anew');
  assert.deepEqual(output('anew').match(/^run \d/gm), ['run 0', 'run 1', 'run 0', 'run 1']);
  assert.match(output('anew'), /no progress over 3 attempts/);
});

test('where hpd is away it says so, and ends at its limit', async () => {
  configure({ url: 'http://127.0.0.1:1', diagnosisTimeout: '2s' });
  const job = write('away', { srun: `srun --auto-resume=1 -N2 -n1 bash -c 'exit 9'`, steps: 1 });
  await over(job, 'away');
  configure();
  inOrder(output('away'), [/hpd at http:\/\/127\.0\.0\.1:1 does not answer .*: trying again/, /No diagnosis from hpd/, /srun ended 9/]);
});
