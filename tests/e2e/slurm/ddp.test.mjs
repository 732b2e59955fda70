// A real training, PyTorch's DistributedDataParallel over gloo on two nodes, started as HyperPod's example of auto-resume starts it: by
// sbatch, with srun --auto-resume=1 and torchrun. It loses a node by an Xid, and in another run the node's slurmd by kill -9; it goes on
// from its last checkpoint on another node of the same job, and ends with the very loss of the run that nothing happened to.
import assert from 'node:assert/strict';
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { root } from '../lib/programs.mjs';
import { FELL_OFF, World, until } from '../lib/world.mjs';

const STEPS = 60;
const TRAINING_MS = 400000; // eight Pythons that load PyTorch, on a machine that has other work
const TORCHRUN = '/usr/bin/torchrun'; // Debian's: the torchrun and the python3 that PATH has may be others
let world, undisturbed;

// As after a kill -9 of a unit without Restart=: slurmd comes back with the machine only.
class Unattended extends World {
  writeConfig() {
    if (!this.config) this.slurmd = ['sh', '-c', '"$@"; exec sleep infinity', 'sh', ...this.slurmd];
    super.writeConfig();
  }
}

before(async () => {
  world = await new Unattended({ nodes: 6, recovery: { breakerMin: 100 } }).start();
  world.allowAutoResume();
  undisturbed = await train('undisturbed'); // beside the others
});
after(() => world?.end());

// Below those that the kernel gives to connections (/proc/sys/net/ipv4/ip_local_port_range), one of which would take it before the job does.
const freePort = () => new Promise((done) => {
  const look = () => {
    const server = createServer();
    server.on('error', look);
    server.listen(20000 + Math.floor(Math.random() * 12000), '127.0.0.1', () => {
      const { port } = server.address();
      server.close(() => done(port));
    });
  };
  look();
});

// The nodes share one machine: so each job has a port of its own, and who is the head is said, not found out by its address. What an
// attempt left behind on a node that is lost does not meet the next one, which has another id. (Without --redirects and --tee, PyTorch
// 1.13 on Python 3.11 ends with an AttributeError.)
async function train(name, { held = false } = {}) {
  const file = (what) => join(world.dir, `${name}.${what}`);
  if (held) writeFileSync(file('checkpoint.hold'), '');
  writeFileSync(file('torchrun'), `#!/bin/bash
head=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)
address=$(scontrol show node -o "$head" | sed -n 's/.* NodeAddr=\\([^ ]*\\).*/\\1/p')
[ "$SLURMD_NODENAME" = "$head" ] && is_host=1 || is_host=0
exec ${TORCHRUN} --nnodes "$SLURM_JOB_NUM_NODES" --nproc_per_node 1 \\
  --rdzv_backend c10d --rdzv_endpoint "$address:${await freePort()}" --rdzv_id "$SLURM_JOB_ID.$HOLDFAST_AUTO_RESUME_ATTEMPT" \\
  --rdzv_conf "is_host=$is_host" --log_dir ${file('ranks')} --redirects 1 --tee 1 \
  ${join(root, 'tests/support/ddp_train.py')} ${file('checkpoint')} ${STEPS}
`, { mode: 0o755 });
  writeFileSync(file('sh'), `#!/bin/bash
export GLOO_SOCKET_IFNAME=lo OMP_NUM_THREADS=1 PYTHONUNBUFFERED=1
srun --auto-resume=1 ${file('torchrun')}
echo "srun ended $?"
`, { mode: 0o755 });
  const id = world.slurmRun('sbatch', '--parsable', '--no-kill', '-N2', '--ntasks-per-node=1', '--exclusive', '-D', world.dir, '-o', file('out'), file('sh'));
  const output = () => (existsSync(file('out')) ? readFileSync(file('out'), 'utf8').replace(/^\[default0\]:/gm, '') : '');
  const state = () => world.slurmRun('squeue', '-h', '-a', '-t', 'all', '-j', id, '-o', '%T');
  return {
    id, output, state,
    goOn: () => rmSync(file('checkpoint.hold')),
    nodes: () => world.slurmRun('scontrol', 'show', 'hostnames', world.slurmRun('squeue', '-h', '-j', id, '-o', '%N')).split('\n'),
    batchHost: () => world.slurmRun('squeue', '-h', '-j', id, '-o', '%B'),
    attempts: () => [...output().matchAll(/^attempt (\S+): 2 ranks from step (\d+)$/gm)].map(([, attempt, step]) => [Number(attempt), Number(step)]),
    step: () => Math.max(0, ...[...output().matchAll(/^step (\d+) /gm)].map(([, step]) => Number(step))),
    over: () => until(`${name} is over`, () => ['COMPLETED', 'FAILED', 'CANCELLED', 'TIMEOUT', 'NODE_FAIL'].includes(state()), TRAINING_MS).catch((error) => {
      throw new Error(`${error.message}\n${output()}`);
    }),
  };
}

// Its last step's loss, to the last bit, once it has ended well.
function loss(job) {
  assert.equal(job.state(), 'COMPLETED', job.output());
  assert.match(job.output(), /^srun ended 0$/m);
  const found = /^trained: loss (0x1\.[0-9a-f]+p[-+]\d+)$/m.exec(job.output());
  assert.ok(found, job.output());
  return found[1];
}

// Waits for a checkpoint, takes a node that the batch script is not on, and holds the end against the undisturbed run.
async function loses(name, breaks) {
  const job = await train(name, { held: true });
  await until(`${name} has a checkpoint`, () => job.step() > 12, TRAINING_MS);
  const nodes = job.nodes();
  const lost = nodes.find((node) => node !== job.batchHost());
  breaks(lost);
  await until(`${name} is run again`, () => job.attempts().length > 1 || job.state() !== 'RUNNING', TRAINING_MS);
  job.goOn();
  await job.over();
  await undisturbed.over();
  assert.equal(loss(job), loss(undisturbed));
  const [first, second, ...others] = job.attempts();
  assert.deepEqual([first, others], [[0, 0], []], job.output());
  assert.equal(second[0], 1);
  assert.ok(second[1] >= 10 && second[1] % 5 === 0, `from a checkpoint: ${second[1]}`);
  const hosts = (list) => world.slurmRun('scontrol', 'show', 'hostnames', list).split('\n');
  const seen = await until(`a job snapshot has seen that ${lost} was replaced`, () => {
    const now = world.json('job', 'describe', job.id);
    return now.nodes && !hosts(now.nodes).includes(lost) && now;
  });
  assert.equal(seen.restarts, 0, 'the same job all along');
  assert.deepEqual(seen.attempts.map((a) => [a.attempt, a.state]), [[0, 'failed'], [1, 'ended']]);
  return lost;
}

test('a node whose GPU fell off is replaced in the running job: the same loss', async () => {
  const lost = await loses('xid', (node) => world.kernel(node, FELL_OFF));
  await world.repaired(lost, 'reboot');
});

test('a node whose slurmd was killed is replaced in the running job: the same loss', async () => {
  const lost = await loses('killed', (node) => process.kill(Number(readFileSync(join(world.slurm, 'run', `${node}.own`), 'utf8')), 'SIGKILL'));
  assert.match(world.slurmNode(lost).state, /^DOWN/);
});

test('the training beside them was left alone', () => {
  assert.deepEqual(undisturbed.attempts(), [[0, 0]], undisturbed.output());
});
