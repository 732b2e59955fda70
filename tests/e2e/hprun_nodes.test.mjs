// Several nodes without an operator: the hprun of one node gathers the others, and a fault anywhere starts the workers of all nodes anew. A real
// training on two of them, static and c10d; a node that is lost, and one that comes later; nodes that do not belong.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { Place, freePort, until } from './lib/hprun.mjs';
import { root } from './lib/programs.mjs';

const TRAIN = join(root, 'tests/support/hprun_train.py');
const STEPS = 20;
let place, wanted;

before(() => {
  place = new Place();
});
after(() => place?.end());

const lossOf = (text) => /trained: loss (\S+)/.exec(text)?.[1];

async function staticJob(name, wrong, options = []) {
  const [port, agents] = [await freePort(), await freePort()];
  const runs = [0, 1].map((rank) => place.start(['--nnodes=2', `--node-rank=${rank}`, `--master-port=${port}`, `--rdzv-conf=agent_port=${agents}`, '--nproc-per-node=2', '--tee=3', ...options, TRAIN, place.path(name), String(STEPS), ...wrong.map(String)]));
  const codes = await Promise.all(runs.map((run) => run.over));
  return { codes, out: runs.map((run) => run.out).join(''), err: runs.map((run) => run.err).join('') };
}

test('static: two nodes train', { timeout: 120000 }, async () => {
  const { codes, out, err } = await staticJob('plain', []);
  assert.deepEqual(codes, [0, 0], err);
  assert.match(out, /\[default1\]:Train Epoch 0: rank 3 of 4 from step 0/);
  wanted = lossOf(out);
  assert.ok(wanted);
});

for (const [what, rank] of [['kill', 3], ['crash', 0]])
  test(`static: ${what} on rank ${rank} starts both nodes anew, once`, { timeout: 120000 }, async () => {
    const { codes, out, err } = await staticJob(what, [what, rank, 8], ['--max-restarts=1']);
    assert.deepEqual(codes, [0, 0], err);
    assert.equal(lossOf(out), wanted);
    assert.equal(out.match(/Train Epoch/g).length, 8);
  });

test("static: an application's fault stops both nodes after the limit, and both say why", { timeout: 120000 }, async () => {
  const { codes, err } = await staticJob('bug', ['bug', 2, 3], ['--max-restarts=1']);
  assert.deepEqual(codes, [1, 1]);
  assert.equal(err.match(/hprun: the job failed after 1 restart: WorkerCrash: Rank \d/g)?.length, 2, err);
});

// --- c10d ----------------------------------------------------------------------------------------------------

async function elastic(nodes, limits, script, conf = 'last_call_timeout=1') {
  const endpoint = `127.0.0.1:${await freePort()}`;
  const start = (i) => place.start([`--nnodes=${limits}`, '--rdzv-backend=c10d', '--rdzv-id=job', `--rdzv-endpoint=${endpoint}`, `--rdzv-conf=${conf},is_host=${i === 0 ? 1 : 0}`, '--max-restarts=3', '--no-python', '--shutdown-timeout=2', '/bin/sh', '-c', script]);
  return { runs: Array.from({ length: nodes }, (_, i) => start(i)), more: start };
}
const SAY = 'echo "rank $RANK of $WORLD_SIZE start $TORCHELASTIC_RESTART_COUNT port $MASTER_PORT"';

test('c10d: a node that comes later is taken in, one that is lost is left out, and the job ends for all', { timeout: 120000 }, async () => {
  const go = place.path('go');
  const { runs, more } = await elastic(1, '1:3', `${SAY}; while [ ! -e ${go} ]; do sleep 0.05; done`);
  await until('it begins alone', () => runs[0].out.includes('rank 0 of 1 start 0'));
  runs.push(more(1));
  await until('two', () => /rank 0 of 2 start 0/.test(runs[0].out) && /rank 1 of 2 start 0/.test(runs[1].out));
  runs.push(more(2));
  await until('three', () => /rank 2 of 3 start 0/.test(runs[2].out), 20000);
  runs[1].child.kill('SIGKILL');
  await until('two are left', () => /rank 0 of 2 start 1/.test(runs[0].out) && /rank 1 of 2 start 1/.test(runs[2].out));
  writeFileSync(go, '');
  assert.deepEqual([await runs[0].over, await runs[2].over], [0, 0], runs[0].err + runs[2].err);
  const ports = runs[0].out.match(/port \d+/g);
  assert.ok(new Set(ports).size > 1, 'each start has a port of its own');
});

test('c10d: a fault counts, and a node that ends early waits for the others', { timeout: 120000 }, async () => {
  const { runs } = await elastic(2, '2', `${SAY}; if [ $RANK = 1 ] && [ $TORCHELASTIC_RESTART_COUNT = 0 ]; then exit 5; fi; [ $RANK = 0 ] || sleep 1`);
  assert.deepEqual(await Promise.all(runs.map((run) => run.over)), [0, 0], runs[0].err);
  assert.match(runs[0].out, /rank 0 of 2 start 1/);
  const ports = (run) => run.out.match(/start \d+ port \d+/g);
  assert.deepEqual(ports(runs[1]), ports(runs[0]), 'all ranks are told the port of rank 0');
});

test('c10d: two nodes train', { timeout: 120000 }, async () => {
  const endpoint = `127.0.0.1:${await freePort()}`;
  const runs = [1, 0].map((host) => place.start(['--nnodes=2', '--rdzv-backend=c10d', '--rdzv-id=train', `--rdzv-endpoint=${endpoint}`, `--rdzv-conf=is_host=${host}`, '--nproc-per-node=2', '--tee=3', TRAIN, place.path('gathered'), String(STEPS)]));
  assert.deepEqual(await Promise.all(runs.map((run) => run.over)), [0, 0], runs[0].err);
  assert.equal(lossOf(runs.map((run) => run.out).join('')), wanted);
});

test('c10d: the hprun that gathers is killed: the others stop', { timeout: 60000 }, async () => {
  const { runs } = await elastic(2, '2', `${SAY}; sleep 60`);
  await until('both run', () => runs.every((run) => run.out.includes('of 2')));
  runs[0].child.kill('SIGKILL');
  assert.equal(await runs[1].over, 1);
  assert.match(runs[1].err, /the connection to the hprun that gathers is gone/);
});

test('who does not belong is refused', { timeout: 60000 }, async () => {
  const [port, agents] = [await freePort(), await freePort()];
  const start = (...args) => place.start(['--nnodes=2', `--master-port=${port}`, `--rdzv-conf=agent_port=${agents}`, '--no-python', ...args, '/bin/sh', '-c', SAY]);
  const first = start('--node-rank=0');
  await until('it listens', () => first.err.includes('READY'));
  const refused = [start('--node-rank=1', '--rdzv-id=other'), start('--node-rank=1', '--nproc-per-node=3')];
  assert.deepEqual(await Promise.all(refused.map((run) => run.over)), [1, 1]);
  assert.match(refused[0].err, /Refused: another job \(--rdzv-id\) gathers here/);
  assert.match(refused[1].err, /Refused: --nproc-per-node differs from that of the other nodes/);
  const second = start('--node-rank=1');
  assert.deepEqual([await first.over, await second.over], [0, 0], first.err);
});
