// hprun beside HyperPod's own agent, whose package is taken from PyPI: the same options, the same findings in the same logs, the same answers
// to the same requests. Skipped with a line where PyPI is not reached.
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { PYTHON, Place, freePort, until } from './lib/hprun.mjs';
import { hprunPath, root } from './lib/programs.mjs';

const AGENT = join(root, 'tests/support/hyperpod_agent.py');
let place, source, libraries, missing;

function pip(...args) {
  for (const python of [PYTHON, 'python3']) {
    const ran = spawnSync(python, ['-m', 'pip', '--disable-pip-version-check', '--retries', '1', '--timeout', '10', ...args], { encoding: 'utf8', cwd: place.dir, timeout: 120000 });
    if (!/No module named pip/.test(ran.stderr)) return ran;
  }
  return { status: 1, stderr: 'no pip' };
}

before(() => {
  place = new Place();
  const got = pip('download', '-q', '--no-deps', 'hyperpod-elastic-agent==1.1.3');
  const archive = readdirSync(place.dir).find((name) => name.endsWith('.tar.gz'));
  if (got.status !== 0 || !archive) {
    missing = `PyPI is not reached: ${(got.stderr ?? '').trim().split('\n').at(-1)}`;
    return;
  }
  spawnSync('tar', ['xzf', archive], { cwd: place.dir });
  source = join(place.dir, archive.replace('.tar.gz', ''), 'src/hyperpod_elastic_agent');
  const version = spawnSync(PYTHON, ['-c', 'import sys; print("%d.%d" % sys.version_info[:2])'], { encoding: 'utf8' }).stdout.trim();
  libraries = place.path('libraries');
  const added = pip('install', '-q', '--target', libraries, '--python-version', version, '--only-binary=:all:', 'fastapi', 'uvicorn');
  if (added.status !== 0) libraries = null;
});
after(() => place?.end());

const skip = (t) => missing && (t.skip(missing), true);

test('every option of hyperpodrun', (t) => {
  if (skip(t)) return;
  const theirs = [...readFileSync(join(source, 'run.py'), 'utf8').matchAll(/"--([a-z-]+)"/g)].map((found) => found[1]);
  const help = spawnSync(hprunPath, ['--help'], { encoding: 'utf8' }).stdout;
  assert.ok(theirs.length >= 12);
  for (const name of theirs) assert.match(help, new RegExp(`--${name}\\b`));
});

// --- rules ---------------------------------------------------------------------------------------------------

function theirFindings(rules, lines, end) {
  const ran = spawnSync(PYTHON, [AGENT, source, 'rules'], { input: JSON.stringify({ rules, lines, end }), encoding: 'utf8' });
  assert.equal(ran.status, 0, ran.stderr);
  return JSON.parse(ran.stdout);
}

const BASE = Date.parse('2026-01-01T00:00:00Z');
const stamp = (second) => new Date(BASE + second * 1000).toISOString();

function ourFindings(rules, lines, end) {
  writeFileSync(place.path('rules.json'), JSON.stringify(rules));
  writeFileSync(place.path('log'), [[0, 'begin'], ...lines, [end, 'end']].map(([second, text]) => `${stamp(second)} ${text}\n`).join(''));
  const ran = spawnSync(hprunPath, ['rules', 'test', place.path('log'), '-f', place.path('rules.json')], { encoding: 'utf8' });
  assert.notEqual(ran.status, 2, ran.stderr);
  return [...ran.stdout.matchAll(/^(\S+Z) line \d+ (\S+):/gm)].map(([, when, reason]) => [(Date.parse(when) - BASE) / 1000, reason]);
}

// The same numbers each time.
function* numbers(seed) {
  for (let x = seed; ; ) {
    x = (Math.imul(x, 1664525) + 1013904223) >>> 0;
    yield x / 2 ** 32;
  }
}

test('the same findings in the same logs', { timeout: 300000 }, (t) => {
  if (skip(t)) return;
  const rules = [
    { name: 'Start', logPattern: '.*configured.*', expectedStartCutOffInSeconds: 120 },
    { name: 'Hang', logPattern: '.*\\[Epoch 0 Batch \\d+.*', expectedRecurringFrequencyInSeconds: 30, expectedStartCutOffInSeconds: 60 },
    { name: 'Rate', logPattern: ".*'samples\\/sec': (\\d+(\\.\\d+)?).*", metricThreshold: 80, operator: 'lteq', metricEvaluationDataPoints: 3 },
    { name: 'Spike', logPattern: '.*loss_step (\\d+(?:\\.\\d+)?).*', metricThreshold: 2, operator: 'gt', metricEvaluationDataPoints: 2 },
    { name: 'Equal', logPattern: '.*loss_step (\\d+)', metricThreshold: 3, operator: 'eq' },
    { name: 'Less', logPattern: '.* (.+)TFLOPs.*', metricThreshold: 100, operator: 'lt', metricEvaluationDataPoints: 2 },
    { name: 'Stop', logPattern: '.*Epoch.*', expectedRecurringFrequencyInSeconds: 20, stopPattern: '.*training over.*' },
    { name: 'Memory', logPattern: '.*out of memory.*', faultOnMatch: true },
    { name: 'Anchored', logPattern: '.{24} loss_step (\\d+)', metricThreshold: 3, operator: 'gteq' },
  ];
  let compared = 0;
  for (const seed of [1, 2, 3, 4, 5, 6]) {
    const next = numbers(seed), random = (below) => Math.floor(next.next().value * below), lines = [];
    let second = 0;
    for (let i = 0; i < 150; i++) {
      second += [1, 2, 3, 5, 10, 40][random(6)];
      const texts = [`[Epoch 0 Batch ${i}] {'samples/sec': ${random(160)}.5}`, `loss_step ${random(5)}.${random(10)}`, `x loss_step ${random(5)} end`, `at ${random(200)} TFLOPs`, 'noise', `[Epoch 1 Batch ${i}]`];
      lines.push([second, i === 40 ? 'configured' : i === 120 && seed > 3 ? 'training over' : i === 130 && seed % 2 ? 'CUDA out of memory' : texts[random(texts.length)]]);
    }
    const end = second + 100, withTime = lines.map(([at, text]) => [at, `${stamp(at)} ${text}\n`]);
    const theirs = theirFindings(rules, withTime, end), ours = ourFindings(rules, lines, end);
    const of = (list, name) => list.filter(([, reason]) => reason.endsWith(`_${name}`));
    for (const { name } of rules) {
      assert.deepEqual(of(ours, name).map(([, reason]) => reason), of(theirs, name).map(([, reason]) => reason), `${name}, log ${seed}`);
      of(ours, name).forEach(([at], i) => assert.ok(Math.abs(at - of(theirs, name)[i][0]) <= 1, `${name}, log ${seed}: ${at} and ${of(theirs, name)[i][0]}`));
      compared += of(ours, name).length;
    }
  }
  assert.ok(compared > 100, `${compared} findings`);
});

// --- messages ------------------------------------------------------------------------------------------------

const CLIENT = `
import os, sys, time, types
import torch.distributed.elastic.utils.logging
package = types.ModuleType("hyperpod_elastic_agent"); package.__path__ = [sys.argv[1]]; sys.modules["hyperpod_elastic_agent"] = package
from hyperpod_elastic_agent.ipc.client import CheckpointDiscoverySocketClient, InProcessRestartSocketClient
from hyperpod_elastic_agent.checkpoint_discovery import CheckpointType
rank = int(os.environ["RANK"])
checkpoints = CheckpointDiscoverySocketClient("run", num_model_checkpoints=2)
print("latest", checkpoints.get_latest_checkpoint_path(), flush=True)
checkpoints.update(10, "/c/10", CheckpointType.MODEL_CHECKPOINT)
job = InProcessRestartSocketClient()
job.hyperpod_send_data(rank, f"data {rank}")
job.hyperpod_notify_labels({"pp": "1"})
while not os.path.exists(sys.argv[2]): time.sleep(0.05)
print("latest", checkpoints.get_latest_checkpoint_path(), flush=True)
if rank == 1: job.hyperpod_send_fault(rank, reason="TheirReason", message="of their library")
time.sleep(60)
`;

test("workers that speak by HyperPod's own library", { timeout: 60000 }, async (t) => {
  if (skip(t)) return;
  writeFileSync(place.path('client.py'), CLIENT);
  const run = await place.start(['--rdzv-backend=hyperpod', '--server-host=127.0.0.1', '--server-port=0', '--resource-config-dir', place.dir, '--nproc-per-node=2', place.path('client.py'), source, place.path('go')]).listening();
  await run.ask('/start', { rank: 0, nnodes: 1, faultCount: 0, master_addr: 'h', master_port: 1 });
  const status = await until('both have spoken', async () => {
    const seen = await run.status();
    if (seen.status !== 'running') throw new Error(`${JSON.stringify(seen)} ${run.err}`);
    return seen.progress && seen.worker_data?.length === 2 && seen;
  });
  assert.deepEqual(status.progress, { run: { progressData: '/c/10', progressCount: 10 } });
  assert.deepEqual(status.rank_labels, { pp: '1' });
  writeFileSync(place.path('go'), '');
  const faulted = await run.state('faulted');
  assert.deepEqual([faulted.reason, faulted.message], ['TheirReason', 'Local rank 1 reported a fault: of their library']);
  assert.match(run.out, /latest None/);
  assert.match(run.out, /latest \/c\/10/);
});

// --- requests ------------------------------------------------------------------------------------------------

const START = { rank: 0, nnodes: 1, faultCount: 0, master_addr: 'h', master_port: 1 };
// [method, path, body]; different: on purpose (docs/man/hprun.1).
const REQUESTS = [
  ['GET', '/status'], ['POST', '/start', {}], ['POST', '/start', { ...START, rank: 'x' }], ['POST', '/start', { ...START, master_addr: '' }],
  ['POST', '/start', { ...START, master_addr: undefined, nnodes: undefined }], ['POST', '/update', { ...START, faultCount: 'y' }], ['GET', '/start'], ['POST', '/status', {}], ['GET', '/nothing'],
  ['POST', '/start', { ...START, rank: '0', master_port: '29500', spare: 1, unknown: true, progress: {} }], ['GET', '/status'], ['POST', '/stop', { is_graceful: 'z' }],
  ['POST', '/stop', { timeout: 'z' }], ['POST', '/stop', { restart_mode: 'plr', is_graceful: false }], ['POST', '/shutdown'],
];

test('the same answers to the same requests', { timeout: 120000 }, async (t) => {
  if (skip(t)) return;
  if (!libraries) return t.skip('FastAPI is not to be had from PyPI');
  const port = await freePort();
  const theirs = spawn(PYTHON, [AGENT, source, 'api', String(port)], { env: { ...process.env, PYTHONPATH: libraries }, stdio: 'inherit' });
  try {
    const run = await place.start(['--rdzv-backend=hyperpod', '--server-host=127.0.0.1', '--server-port=0', '--resource-config-dir', place.dir, '--no-python', '/bin/sleep', '60']).listening();
    const send = async (base, [method, path, body]) => {
      const reply = await fetch(base + path, { method, body: body && JSON.stringify(body), headers: body && { 'content-type': 'application/json' } });
      const text = await reply.text();
      let parsed;
      try {
        parsed = JSON.parse(text);
      } catch {
        parsed = null;
      }
      return { status: reply.status, body: parsed };
    };
    const base = `http://127.0.0.1:${port}`;
    await until('their agent answers', () => fetch(`${base}/status`).then(() => true, () => false));
    for (const request of REQUESTS) {
      const [their, our] = [await send(base, request), await send(run.url, request)], name = JSON.stringify(request);
      assert.equal(our.status, their.status, name);
      if (their.status === 422) {
        const places = (reply) => reply.body.detail.map((one) => one.loc.slice(0, 2).join('.')).sort();
        assert.deepEqual([...new Set(places(our))], [...new Set(places(their))], name);
      }
      if (request[1] === '/status' && request[0] === 'GET') {
        for (const [key, value] of Object.entries(their.body)) {
          assert.ok(key in our.body, `${name}: ${key}`);
          if (key === 'transitions') assert.deepEqual(Object.keys(our.body[key]).sort(), Object.keys(value).sort());
          else if (key !== 'spare') assert.deepEqual(our.body[key], value, `${name}: ${key}`);
        }
      }
    }
  } finally {
    theirs.kill('SIGKILL');
  }
});
