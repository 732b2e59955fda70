// hprun under srun on a real Slurm, with a real training (PyTorch's DistributedDataParallel over gloo on two nodes): a rank that hangs costs neither
// the allocation nor the step, and with --auto-resume=1 a node that is lost is replaced in the job. Each ends with the loss of the undisturbed run.
import assert from 'node:assert/strict';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { PYTHON, freePort } from '../lib/hprun.mjs';
import { hprunPath, root } from '../lib/programs.mjs';
import { FELL_OFF, World, until } from '../lib/world.mjs';

const STEPS = 40;
const TRAINING_MS = 400000; // Pythons that load PyTorch, on a machine that has other work
let world, undisturbed, hangs, loses;

before(async () => {
  world = await new World({ nodes: 5, recovery: { breakerMin: 100 } }).start();
  world.allowAutoResume();
  // Four nodes are at work from the start, and the fifth is free; the last job gets the nodes of the first one that has ended.
  undisturbed = await train('undisturbed');
  hangs = await train('hangs', { rule: 45, wrong: 'hang 1 20' });
  loses = await train('lost', { srun: '--auto-resume=1', wrong: 'hang 1 20' });
});
after(() => world?.end());

// The nodes share one machine, so each job has a port of its own, and who gathers is said. rule: seconds within which a step has to follow a step.
async function train(name, { srun = '', rule, wrong = '' } = {}) {
  const file = (what) => join(world.dir, `${name}.${what}`);
  if (rule) writeFileSync(file('rules'), JSON.stringify([{ name: 'Steps', logPattern: '.*training_loss_step (\\d+\\.\\d+).*', expectedRecurringFrequencyInSeconds: rule, stopPattern: `.*step ${STEPS} .*` }]));
  writeFileSync(file('task'), `#!/bin/bash
head=$(scontrol show hostnames "$SLURM_STEP_NODELIST" | head -n 1)
address=$(scontrol show node -o "$head" | sed -n 's/.* NodeAddr=\\([^ ]*\\).*/\\1/p')
[ "$SLURMD_NODENAME" = "$head" ] && is_host=1 || is_host=0
exec ${hprunPath} --nnodes 2 --nproc-per-node 1 --max-restarts 3 --tee 3 --log-dir ${file('ranks')} ${rule ? `--log-rules ${file('rules')}` : ''} \\
  --rdzv-backend c10d --rdzv-endpoint "$address:${await freePort()}" --rdzv-id "$SLURM_JOB_ID.$HOLDFAST_AUTO_RESUME_ATTEMPT" --rdzv-conf "is_host=$is_host" \\
  ${join(root, 'tests/support/hprun_train.py')} ${file('checkpoint')} ${STEPS} ${wrong}
`, { mode: 0o755 });
  writeFileSync(file('sh'), `#!/bin/bash
export GLOO_SOCKET_IFNAME=lo OMP_NUM_THREADS=1 PYTHON_EXEC=${PYTHON}
srun ${srun} ${file('task')}
echo "srun ended $?"
`, { mode: 0o755 });
  const id = world.slurmRun('sbatch', '--parsable', '--no-kill', '-N2', '--ntasks-per-node=1', '--exclusive', '-D', world.dir, '-o', file('out'), file('sh'));
  const output = () => (existsSync(file('out')) ? readFileSync(file('out'), 'utf8') : '');
  const state = () => world.slurmRun('squeue', '-h', '-a', '-t', 'all', '-j', id, '-o', '%T');
  return {
    id, output, state,
    begun: () => [...output().matchAll(/^\[default0\]:Train Epoch 0: rank 0 of 2 from step (\d+)$/gm)].map(([, step]) => Number(step)),
    over: () => until(`${name} is over`, () => ['COMPLETED', 'FAILED', 'CANCELLED', 'TIMEOUT', 'NODE_FAIL'].includes(state()) && /^srun ended/m.test(output()), TRAINING_MS).catch((error) => {
      throw new Error(`${error.message}\n${output()}`);
    }),
  };
}

// Its last step's loss, to the last bit, once it has ended well.
async function loss(job) {
  await job.over();
  assert.match(job.output(), /^srun ended 0$/m);
  const found = /trained: loss (0x1\.[0-9a-f]+p[-+]\d+)$/m.exec(job.output());
  assert.ok(found, job.output());
  return found[1];
}

test('srun hprun: a rank that hangs is found by its log, and all ranks begin again in the same step of the same allocation', async () => {
  const job = hangs;
  assert.equal(await loss(job), await loss(undisturbed), job.output());
  assert.match(job.output(), /LogHang_Steps/);
  const [first, ...again] = job.begun();
  assert.equal(first, 0);
  assert.ok(again.length >= 1 && again.every((step) => step >= 5 && step % 5 === 0), job.output());
  assert.equal(world.slurmRun('scontrol', 'show', 'job', job.id).match(/Restarts=(\d+)/)[1], '0');
  assert.equal(world.slurmRun('sinfo', '-h', '-N', '-o', '%T').split('\n').filter((s) => !/^(idle|allocated|mixed|completing)$/.test(s)).length, 0, 'a hang costs no node');
});

test('srun --auto-resume=1 hprun: a node that is lost is replaced in the running job', async () => {
  const job = loses;
  await until('it hangs', () => existsSync(join(world.dir, 'lost.checkpoint.happened')), TRAINING_MS);
  await until('hpd knows of the step', () => world.json('job', 'describe', job.id).attempts.length > 0, TRAINING_MS);
  const nodes = world.slurmRun('scontrol', 'show', 'hostnames', world.slurmRun('squeue', '-h', '-j', job.id, '-o', '%N')).split('\n');
  const lost = nodes.find((node) => node !== world.slurmRun('squeue', '-h', '-j', job.id, '-o', '%B'));
  world.kernel(lost, FELL_OFF);
  assert.equal(await loss(job), await loss(undisturbed), job.output());
  const [first, second, ...others] = job.begun();
  assert.deepEqual([first, others], [0, []], job.output());
  assert.ok(second >= 5 && second % 5 === 0);
  const attempts = await until('the attempts are told', () => {
    const told = world.json('job', 'describe', job.id).attempts;
    return told.length === 2 && told[1].state === 'ended' && told;
  });
  assert.deepEqual(attempts.map((a) => a.state), ['failed', 'ended']);
  assert.match(attempts[0].reason, new RegExp(`^${lost}: `));
});
