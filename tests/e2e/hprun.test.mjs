// hprun on one node: what a worker sees is what torchrun shows it; a real training (PyTorch's DistributedDataParallel over gloo) that hangs, is
// slow, spikes, runs out of memory, or loses a rank goes on from its checkpoint and ends with the very loss of the run that nothing
// happened to; an application's own fault stops after its limit; and nothing is left behind.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { PYTHON, Place, freePort, processesWith, until } from './lib/hprun.mjs';
import { root } from './lib/programs.mjs';

const TRAIN = join(root, 'tests/support/hprun_train.py');
const STEPS = 20;
const RULES = `
- {name: JobStartGracePeriod, logPattern: '.*Train Epoch.*', expectedStartCutOffInSeconds: 120}
- {name: LossSpikeDetection, logPattern: '.*training_loss_step (\\d+(?:\\.\\d+)?).*', metricThreshold: 20.0, operator: gt, metricEvaluationDataPoints: 5}
- {name: TFLOPs, logPattern: '.* (.+) TFLOPs.*', metricThreshold: 50.5, operator: lt, metricEvaluationDataPoints: 5}
- {name: GPUError, logPattern: '.*RuntimeError: .*out of memory.*', faultOnMatch: true}
`;
// For what hangs alone: on a busy machine a step may take seconds, and a crash before it is over, too.
const HANG = "- {name: JobHangingDetection, logPattern: '.*step \\d+ training_loss_step.*', expectedRecurringFrequencyInSeconds: 12}\n";
let place, wanted;

const lossOf = (text) => /trained: loss (\S+)/.exec(text)?.[1];

before(async () => {
  place = new Place();
  writeFileSync(place.path('rules.yaml'), RULES);
  writeFileSync(place.path('hang.yaml'), RULES + HANG);
  const run = place.start(['--standalone', '--nproc-per-node=2', TRAIN, place.path('undisturbed'), String(STEPS)]);
  assert.equal(await run.over, 0, run.err);
  wanted = lossOf(run.out);
  assert.ok(wanted);
});
after(() => place?.end());

async function train(name, [what, rank, step], args = []) {
  const run = place.start(['--standalone', '--nproc-per-node=2', '--log-rules', place.path(what === 'hang' ? 'hang.yaml' : 'rules.yaml'), '--tee=3', `--log-dir=${place.path('logs')}`, ...args, TRAIN, place.path(name), String(STEPS), what, String(rank), String(step)]);
  await run.over;
  return run;
}

for (const [what, rank, reason] of [
  ['hang', 1, /reason=LogHang_JobHangingDetection/], ['spike', 0, /reason=LogSlow_LossSpikeDetection/], ['slow', 1, /reason=LogSlow_TFLOPs/],
  ['memory', 1, /reason=LogFault_GPUError/], ['kill', 1, /reason=WorkerCrash/], ['crash', 0, /reason=WorkerCrash/],
])
  test(`${what} on rank ${rank}: the workers begin anew and end with the same loss`, { timeout: 120000 }, async () => {
    // On a busy machine a step may last longer than the rule against hangs allows: then there is one more restart, and that is right.
    const slack = what === 'hang' ? 3 : 0;
    const run = await train(what, [what, rank, 8], [`--max-restarts=${1 + slack}`]);
    assert.equal(run.code, 0, run.err);
    assert.match(run.err, reason);
    assert.equal(lossOf(run.out), wanted);
    assert.match(run.out, /^\[default1\]:Train Epoch 0: rank 1 of 2 from step 0$/m);
    assert.match(run.out, /^\[default1\]:Train Epoch 0: rank 1 of 2 from step (5|10)$/m);
    const starts = run.out.match(/Train Epoch/g).length / 2;
    assert.ok(starts >= 2 && starts <= 2 + slack, `two ranks were started ${starts} times`);
  });

test('who stopped first is named', { timeout: 120000 }, async () => {
  const run = await train('named', ['kill', 1, 8], []);
  assert.equal(run.code, 1);
  assert.match(run.err, /hprun: the job failed after 0 restarts: WorkerCrash: Rank 1 \(local rank 1, pid \d+\) was ended by Killed/);
});

test("an application's fault stops after its limit", { timeout: 120000 }, async () => {
  const run = await train('bug', ['bug', 1, 3], ['--max-restarts=2', '--monitor-interval=1']);
  assert.equal(run.code, 1);
  assert.match(run.err, /the job failed after 2 restarts: WorkerCrash: Rank \d/);
  assert.equal(run.out.match(/Train Epoch/g).length, 6);
  const attempts = readdirSync(place.path('logs')).flatMap((one) => readdirSync(join(place.path('logs'), one)).filter((name) => name === 'attempt_2').map((name) => join(place.path('logs'), one, name)));
  assert.equal(attempts.length, 1);
  assert.match(readFileSync(join(attempts[0], '1/stderr.log'), 'utf8'), /ValueError: a bug of the application/);
});

test('rules that change while it runs', { timeout: 120000 }, async () => {
  const rules = place.path('changing.yaml');
  writeFileSync(rules, '- {name: Never, logPattern: nothing}\n');
  const run = place.start(['--standalone', `--log-rules=${rules}`, TRAIN, place.path('changing'), '1000']);
  await until('it trains', () => /step 5 /.test(run.out));
  writeFileSync(rules, '- {name: Broken, logPattern: "("}\n');
  await until('the bad file is refused', () => /rules are not changed: .*Broken/.test(run.err));
  writeFileSync(rules, '- {name: Late, logPattern: ".*step.*", faultOnMatch: true}\n');
  assert.equal(await run.over, 1);
  assert.match(run.err, /LogFault_Late/);
});

// --- what a worker sees --------------------------------------------------------------------------------------

const SHOW = `import os, sys
with open(sys.argv[1] + "." + os.environ["RANK"], "w") as out:
    for name in sorted(os.environ): out.write(name + "=" + os.environ[name] + "\\n")
    out.write("argv=" + " ".join(sys.argv[2:]) + "\\nunbuffered=" + str(sys.stdout.write_through) + "\\n")
`;

function seen(file) {
  const entries = readFileSync(file, 'utf8').trim().split('\n').map((line) => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)]);
  return new Map(entries);
}

// What may differ, and why.
const DIFFERS = new Set(['TORCHELASTIC_ERROR_FILE', 'TORCHELASTIC_USE_AGENT_STORE', 'HYPERPOD_ELASTICAGENT_SOCKET_SERVER_PATH', 'HYPERPOD_SIGNAL_COORDINATION', 'JOB_RESTART_COUNT', 'TORCH_NCCL_ASYNC_ERROR_HANDLING', 'TMPDIR', 'PYTHON_EXEC', '_', 'SHLVL', 'KMP_DUPLICATE_LIB_OK', 'KMP_INIT_AT_FORK', 'CUDA_MODULE_LOADING']);

test('the environment and the command line are those of torchrun', { timeout: 120000 }, async () => {
  const script = place.path('show.py');
  writeFileSync(script, SHOW);
  const args = ['--nnodes=1', '--nproc_per_node', '3', '--role', 'trainer', '--rdzv_id=job7', '--master_port', String(await freePort()), '--max_restarts=2', script];
  const env = { ...process.env, GLOO_SOCKET_IFNAME: 'lo', TMPDIR: place.dir };
  const theirs = spawnSync(PYTHON, ['-m', 'torch.distributed.run', '--redirects', '1', '--tee', '1', '--log_dir', place.path('torchrun'), ...args, place.path('theirs'), '--lr', '1e-3'], { env, encoding: 'utf8' });
  assert.equal(theirs.status, 0, theirs.stderr);
  const run = place.start([...args, place.path('ours'), '--lr', '1e-3']);
  assert.equal(await run.over, 0, run.err);
  for (const rank of [0, 1, 2]) {
    const ours = seen(place.path(`ours.${rank}`)), their = seen(place.path(`theirs.${rank}`));
    for (const [name, value] of their)
      if (!DIFFERS.has(name)) assert.equal(ours.get(name), value, `${name} of rank ${rank}`);
    for (const name of ours.keys())
      if (!DIFFERS.has(name)) assert.ok(their.has(name), `${name} is only ours`);
    assert.equal(ours.get('TORCH_NCCL_ASYNC_ERROR_HANDLING'), '1');
    assert.match(ours.get('TORCHELASTIC_ERROR_FILE'), new RegExp(`attempt_0/${rank}/error.json$`));
  }
});

test('lines, files and scripts before and after', { timeout: 60000 }, async () => {
  const script = place.path('say.sh'), around = place.path('around.sh');
  writeFileSync(script, '#!/bin/sh\nprintf "out $RANK $1\\r\\nno end"\necho err $RANK >&2\n', { mode: 0o755 });
  writeFileSync(around, '#!/bin/sh\necho "around: $1 ($#) rank $RANK of $WORLD_SIZE, $LOCAL_WORLD_SIZE here"\n', { mode: 0o755 });
  const run = place.start(['--no-python', '--nproc-per-node=2', '-t', '0:3,1:1', '-r=1:2', `--log_dir=${place.path('files')}`, '--rdzv-id', 'abc', '--pre-train-script', around, '--pre-train-args', 'a b', '--post-train-script', around, script, '--x=${local_rank}']);
  assert.equal(await run.over, 0, run.err);
  assert.deepEqual(run.out.trimEnd().split('\n').sort(), ['[default0]:around:  (0) rank 0 of 2, 1 here', '[default0]:around: a b (1) rank 0 of 2, 1 here', '[default0]:no end', '[default0]:out 0 --x=0', '[default1]:no end', '[default1]:out 1 --x=1']);
  assert.match(run.err, /^\[default0\]:err 0$/m);
  assert.doesNotMatch(run.err, /err 1/, 'that goes to its file only');
  const [job] = readdirSync(place.path('files'));
  assert.match(job, /^abc_/);
  assert.equal(readFileSync(join(place.path('files'), job, 'attempt_0/0/stdout.log'), 'utf8'), 'out 0 --x=0\r\nno end');
  assert.equal(readFileSync(join(place.path('files'), job, 'attempt_0/1/stderr.log'), 'utf8'), 'err 1\n');
});

test('a script before training that fails is a fault, and its restart is one', { timeout: 60000 }, async () => {
  const before = place.path('before.sh');
  writeFileSync(before, '#!/bin/sh\n[ "$TORCHELASTIC_RESTART_COUNT" = 1 ] || exit 9\n', { mode: 0o755 });
  const run = place.start(['--no-python', '--max-restarts=1', '--pre-train-script', before, '/bin/echo', 'trained']);
  assert.equal(await run.over, 0, run.err);
  assert.match(run.err, /reason=WorkerFault/);
  assert.equal(run.out, 'trained\n');
});

test('a program that is not there', { timeout: 60000 }, async () => {
  const run = place.start(['--no-python', '/does/not/exist']);
  assert.equal(await run.over, 1);
  assert.match(run.err, /hprun: cannot run \/does\/not\/exist: No such file or directory/);
});

// --- ends ----------------------------------------------------------------------------------------------------

const tree = "trap 'echo got USR1' USR1; trap 'echo leaves; exit 0' TERM; sh -c 'sleep 876543 & wait' & while :; do sleep 0.1; done";
const sleeping = (seconds) => processesWith(`sleep\0${seconds}\0`, readdirSync);

test('signals are handed on, and what does not end is killed', { timeout: 60000 }, async () => {
  const run = place.start(['--no-python', '--nproc-per-node=2', '--shutdown-timeout=1', '/bin/bash', '-c', tree]);
  await until('they run', () => sleeping('876543').length === 2);
  run.child.kill('SIGUSR1');
  await until('it is handed on', () => run.out.match(/got USR1/g)?.length === 2);
  run.child.kill('SIGTERM');
  assert.equal(await run.over, 143);
  assert.equal(run.out.match(/leaves/g).length, 2);
  assert.deepEqual(sleeping('876543'), [], 'the group of a worker ends with it');
});

// The children of a process; those that have ended and that nobody has asked after are among them.
const childrenOf = (pid) => readdirSync('/proc').filter((name) => /^\d+$/.test(name)).filter((name) => {
  try {
    return Number(readFileSync(`/proc/${name}/stat`, 'utf8').replace(/.*\) /s, '').split(' ')[1]) === pid;
  } catch {
    return false;
  }
});

test('what a worker leaves behind comes to hprun and is no zombie', { timeout: 60000 }, async () => {
  const [begin, end] = [place.path('orphan'), place.path('worker')];
  const run = place.start(['--no-python', '/bin/sh', '-c', `(setsid sh -c 'echo orphan $$; while [ ! -e ${begin} ]; do sleep 0.05; done' &); while [ ! -e ${end} ]; do sleep 0.05; done`]);
  const [, orphan] = await until('the orphan runs', () => /orphan (\d+)/.exec(run.out));
  const parent = () => Number(readFileSync(`/proc/${orphan}/stat`, 'utf8').replace(/.*\) /s, '').split(' ')[1]);
  await until('it has come to hprun', () => parent() === run.child.pid);
  writeFileSync(begin, '');
  await until('it has ended, and is no zombie', () => !existsSync(`/proc/${orphan}`));
  writeFileSync(end, '');
  assert.equal(await run.over, 0);
});

test('as the first process of a container', { timeout: 60000 }, async (t) => {
  if (spawnSync('unshare', ['--pid', '--fork', '/bin/true']).status !== 0) return t.skip('unshare --pid is not allowed here');
  const run = place.start(['--pid', '--fork', process.env.HPRUN ?? join(root, 'build/hprun'), '--no-python', '--nproc-per-node=2', '/bin/bash', '-c', "trap 'echo leaves; exit 0' TERM; (setsid sleep 0.1 &); echo pid $$; while :; do sleep 0.1; done"], { as: 'unshare' });
  await until('they run', () => run.out.match(/pid \d+/g)?.length === 2);
  const [hprun] = childrenOf(run.child.pid);
  await until('the orphans have come to it, ended, and are no zombies', () => childrenOf(Number(hprun)).length === 2);
  process.kill(Number(hprun), 'SIGTERM');
  assert.equal(await run.over, 143);
  assert.equal(run.out.match(/leaves/g).length, 2);
});

test('a worker has the limits that hprun was started with', { timeout: 60000 }, async () => {
  const run = place.start(['-c', `ulimit -Sn 300; exec ${process.env.HPRUN ?? join(root, 'build/hprun')} --no-python --nproc-per-node 100 --tee 3 --log-dir ${place.path('many')} /bin/sh -c 'echo limit $(ulimit -Sn)'`], { as: '/bin/bash' });
  assert.equal(await run.over, 0, run.err);
  assert.equal(run.out.match(/limit 300$/gm)?.length, 100);
});

test('a worker that ignores SIGTERM is killed in time', { timeout: 60000 }, async () => {
  const run = place.start(['--no-python', '--shutdown-timeout=1', '/bin/bash', '-c', "trap '' TERM; echo ready; while :; do sleep 0.1; done"], { env: { PET_SHUTDOWN_TIMEOUT: '3600' } });
  await until('it runs', () => run.out.includes('ready'));
  const began = Date.now();
  run.child.kill('SIGTERM');
  assert.equal(await run.over, 143);
  assert.ok(Date.now() - began >= 900);
});

test('hprun killed: no worker is left', { timeout: 60000 }, async () => {
  const run = place.start(['--no-python', '--nproc-per-node=3', '/bin/sleep', '765432']);
  await until('they run', () => sleeping('765432').length === 3);
  run.child.kill('SIGKILL');
  await until('they are gone', () => sleeping('765432').length === 0);
});

test('a console that nobody reads', { timeout: 60000 }, async () => {
  const script = place.path('loud.sh');
  writeFileSync(script, '#!/bin/sh\nseq 1 400000\n', { mode: 0o755 });
  const run = place.start(['--no-python', '--tee=1', `--log-dir=${place.path('loud')}`, script]);
  run.child.stdout.pause();
  await until('the file is complete', () => existsSync(place.path('loud')) && readdirSync(place.path('loud')).some((job) => {
    const file = join(place.path('loud'), job, 'attempt_0/0/stdout.log');
    return existsSync(file) && readFileSync(file, 'utf8').endsWith('\n400000\n');
  }));
  run.child.stdout.resume();
  assert.equal(await run.over, 0);
  assert.match(run.out, /lines left out here; the log file has them\)|\[default0\]:400000/);
});

// --- rules over a log ----------------------------------------------------------------------------------------

test('hprun rules test says what rules would have said, and when', async () => {
  const log = place.path('a.log'), rules = place.path('test.yaml');
  writeFileSync(log, '2026-01-02 03:04:05,250 Train Epoch 1 loss 1.0\n2026-01-02 03:04:10 loss 9\nno time here loss nan\n[default1]: 2026-01-02T03:06:00Z loss 1\n');
  writeFileSync(rules, 'logMonitoringConfiguration:\n- {name: Gap, logPattern: ".*loss.*", expectedRecurringFrequencyInSeconds: 60}\n- {name: Spike, logPattern: ".*loss (\\\\S+)", metricThreshold: 2, operator: gt, metricEvaluationDataPoints: 2}\n- {name: Absent, logPattern: xyz, expectedStartCutOffInSeconds: 30}\n');
  const test = (...args) => spawnSync(process.env.HPRUN ?? join(root, 'build/hprun'), ['rules', 'test', ...args], { encoding: 'utf8' });
  const told = test(log, '-f', rules);
  assert.equal(told.status, 1, told.stderr);
  assert.equal(told.stdout, `2026-01-02T03:04:10.000Z line 3 LogSlow_Spike: 2 bad values of rule Spike in a row (gt 2) on local rank 0: no time here loss nan
2026-01-02T03:04:35.251Z line 4 LogHang_Absent: No line of rule Absent within 30 s.
2026-01-02T03:05:10.001Z line 4 LogHang_Gap: No line of rule Gap for 60 s (limit 60 s); local rank 0 stopped first: no time here loss nan
rule Gap: 4 lines
rule Spike: 4 lines
rule Absent: 0 lines
4 lines, 3 findings
`);
  writeFileSync(log, 'loss 1\nloss 1\n');
  assert.match(test(log, '-f', rules).stdout, /No line has a time/);
  assert.match(test(log, '-f', rules, '--line-seconds', '61').stdout, /LogHang_Gap/);
  assert.equal(test(log).status, 2);
  assert.equal(test(log, '-f', log).status, 2);
});

test('the rules of the documentation are rules, and know the lines of its example', () => {
  const log = place.path('example.log');
  writeFileSync(log, '2026-01-01T00:00:00Z [step 1] loss 0.5\n2026-01-01T00:06:00Z [step 2] loss nan\n2026-01-01T00:06:01Z training is over\n');
  const told = spawnSync(process.env.HPRUN ?? join(root, 'build/hprun'), ['rules', 'test', log, '-f', join(root, 'docs/examples/log-rules.yaml')], { encoding: 'utf8' });
  assert.match(told.stdout, /^2026-01-01T00:05:00.001Z line 2 LogHang_JobHangingDetection: /m);
  assert.match(told.stdout, /^rule LossSpikeDetection: 2 lines$/m);
});
