// hprun as HyperPod's agent: its states and commands over HTTP, the token, addresses, what workers say; and a real training on two of them as two
// nodes, which a small operator keeps going by process-level restarts: the agents stay, their workers do not.
import assert from 'node:assert/strict';
import { chmodSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { Operator, Place, freePort, until } from './lib/hprun.mjs';
import { hprunPath, root } from './lib/programs.mjs';

const TRAIN = join(root, 'tests/support/hprun_train.py');
const STEPS = 20;
const RULES = [
  { name: 'JobStartGracePeriod', logPattern: '.*Train Epoch.*', expectedStartCutOffInSeconds: 120 },
  { name: 'LossSpikeDetection', logPattern: '.*training_loss_step (\\d+(?:\\.\\d+)?).*', metricThreshold: 20.0, operator: 'gt', metricEvaluationDataPoints: 5 },
  { name: 'GPUError', logPattern: '.*RuntimeError: .*out of memory.*', faultOnMatch: true },
];
// For what hangs alone: on a busy machine a step may take seconds, and a crash before it is over, too.
const HANG = { name: 'JobHangingDetection', logPattern: '.*step \\d+ training_loss_step.*', expectedRecurringFrequencyInSeconds: 12 };
let place;

before(() => {
  place = new Place();
});
after(() => place?.end());

const agent = (args, options) => place.start(['--rdzv-backend=hyperpod', '--server-host=127.0.0.1', '--server-port=0', '--resource-config-dir', place.path('config'), '--tee=3', ...args], options).listening();
const START = { rank: 0, nnodes: 1, faultCount: 0, master_addr: '127.0.0.1', master_port: '29511' };
const lossOf = (text) => /trained: loss (\S+)/.exec(text)?.[1];

test('the states of one agent', { timeout: 60000 }, async () => {
  const run = await agent(['--no-python', '--shutdown-timeout=1', '--nproc-per-node=2', '/bin/sh', '-c', `echo "start $RANK $TORCHELASTIC_RESTART_COUNT"; while [ ! -e ${place.path('go')} ]; do sleep 0.05; done`]);
  const ready = await run.status();
  assert.equal(ready.status, 'ready');
  assert.equal(ready.agent_version, '1.1.3');
  assert.equal(ready.restartMode, 'process_level_restart');
  assert.equal(ready.spare, 'True');
  assert.deepEqual(Object.keys(ready.transitions), ['INIT', 'READY']);
  assert.equal(ready.assigned_rank, undefined);
  assert.equal((await run.ask('/stop', {})).status, 200, 'there is nothing to stop');
  assert.deepEqual([(await run.ask('/start', START)).status, (await run.ask('/start', START)).status], [200, 200], 'the same request again is the same start');
  const running = await run.state('running');
  assert.equal(running.reason, 'Running');
  assert.equal(running.assigned_rank, '0');
  assert.equal((await run.ask('/start', { ...START, faultCount: 1 })).status, 409);
  await until('both have said so', () => run.out.match(/start \d 0/g)?.length === 2);
  await run.ask('/stop', { restart_mode: 'plr' });
  await run.state('ready');
  await run.ask('/start', { ...START, faultCount: 1 });
  await until('it runs again', () => run.out.match(/start \d 1/g)?.length === 2);
  assert.deepEqual(run.out.match(/start \d 0/g)?.length, 2);
  writeFileSync(place.path('go'), '');
  const completed = await run.state('completed');
  assert.deepEqual(Object.keys(completed.transitions).sort(), ['COMPLETED', 'INIT', 'READY', 'RUNNING', 'STOPPING']);
  assert.equal(run.code, undefined, 'it waits to be told');
  await run.ask('/stop', {});
  await run.state('ready');
  assert.equal((await run.ask('/shutdown', {})).status, 200);
  assert.equal(await run.over, 0, run.err);
});

test('hyperpodrun is hprun for an operator', { timeout: 60000 }, async () => {
  const name = place.path('hyperpodrun');
  symlinkSync(hprunPath, name);
  const run = await place.start(['--nproc_per_node=1', '--server-port=0', '--rdzv_backend=c10d', '--resource-config-dir', place.dir, '--no-python', '/bin/sleep', '60'], { as: name, env: { NNODES: '4' } }).listening();
  assert.equal((await run.status()).status, 'ready');
  await run.ask('/shutdown', {});
  assert.equal(await run.over, 0);
});

test('a worker that fails is a fault with its text; the agent ends with 1', { timeout: 60000 }, async () => {
  const script = place.path('fails.py');
  writeFileSync(script, 'import json, os\njson.dump({"message": {"message": "RuntimeError: the very reason"}}, open(os.environ["TORCHELASTIC_ERROR_FILE"], "w"))\nos._exit(7)\n');
  const run = await agent([script]);
  await run.ask('/start', START);
  const faulted = await run.state('faulted');
  assert.equal(faulted.reason, 'WorkerCrash');
  assert.match(faulted.message, /^Rank 0 \(local rank 0, pid \d+\) exited with code 7: RuntimeError: the very reason$/);
  assert.equal((await run.ask('/start', START)).status, 409);
  await run.ask('/shutdown');
  assert.equal((await run.ask('/shutdown', {}).catch(() => ({ status: 200 }))).status, 200);
  assert.equal(await run.over, 1);
});

test('what cannot be read is refused as HyperPod refuses it', { timeout: 60000 }, async () => {
  const run = await agent(['--no-python', '/bin/true']);
  const refused = async (change, member, type) => {
    const reply = await run.ask('/start', { ...START, ...change });
    assert.equal(reply.status, 422, JSON.stringify(change));
    assert.deepEqual([reply.body.detail[0].loc, reply.body.detail[0].type], [['body', member], type]);
    return reply.body.detail[0].msg;
  };
  await refused({ rank: undefined }, 'rank', 'missing');
  await refused({ nnodes: 'x' }, 'nnodes', 'int_parsing');
  assert.equal(await refused({ master_addr: '' }, 'master_addr', 'value_error'), 'Value error, Empty master_addr received from operator');
  await refused({ master_port: 'abc' }, 'master_port', 'int_parsing');
  await refused({ rank: 1 }, 'rank', 'value_error');
  assert.match(await refused({ log_monitoring_configuration: [{ name: 'a', logPattern: '(' }] }, 'log_monitoring_configuration', 'value_error'), /^logMonitoringConfiguration\[0\] a: logPattern is no regular expression/);
  assert.equal((await run.status()).status, 'ready');
  assert.equal((await run.ask('/nope')).status, 404);
  assert.equal((await run.ask('/start')).status, 405);
  const reply = await fetch(`${run.url}/start`, { method: 'POST', body: '{' });
  assert.equal(reply.status, 422);
  run.child.kill('SIGTERM');
  assert.equal(await run.over, 143);
});

test('a token, which may change', { timeout: 60000 }, async () => {
  const token = place.path('token');
  writeFileSync(token, 'one\n');
  const run = await agent(['--server-token-file', token, '--no-python', '/bin/true']);
  const ask = async (value) => (await run.ask('/status', undefined, value && { authorization: value })).status;
  assert.deepEqual([await ask(), await ask('Bearer two'), await ask('Bearer on'), await ask('one'), await ask('Bearer one')], [401, 401, 401, 401, 200]);
  writeFileSync(token, 'two');
  assert.deepEqual([await ask('Bearer one'), await ask('Bearer two')], [401, 200]);
  chmodSync(token, 0o600);
  writeFileSync(token, '');
  assert.equal(await ask('Bearer '), 401, 'an empty token opens nothing');
});

test('addresses of all nodes', { timeout: 60000 }, async () => {
  const config = place.path('addresses');
  const run = await agent(['--resource-config-dir', config, '--no-python', '/bin/sleep', '60']);
  const file = () => JSON.parse(readFileSync(join(config, 'pod_resourceconfig.json'), 'utf8'));
  await run.ask('/start', { ...START, rank: 1, nnodes: 3, ipVersion: 'v1', rankIps: [{ rank: 0, ip: '10.0.0.1' }, { rank: 1, ip: '10.0.0.2' }] });
  assert.deepEqual(file(), { ips: ['10.0.0.1', '10.0.0.2', null], current_pod_ip: '10.0.0.2', ips_timestamp: 'v1' });
  const reply = await run.ask('/update', { ...START, rank: 1, nnodes: 3, ipVersion: 'v2', rankIps: [{ rank: 2, ip: '10.0.0.9' }] });
  assert.equal(reply.body.ipversion, 'v2');
  assert.equal(reply.body.status, 'running');
  assert.deepEqual(file().ips, ['10.0.0.1', '10.0.0.2', '10.0.0.9']);
  await run.ask('/shutdown', {});
  assert.equal(await run.over, 0);
});

const TALK = `
import json, os, socket, struct, sys, time
s = socket.socket(socket.AF_UNIX); s.connect(os.environ["HYPERPOD_ELASTICAGENT_SOCKET_SERVER_PATH"])
def send(type, **body):
    data = json.dumps({"type": type, "client_id": "c", "local_rank": int(os.environ["LOCAL_RANK"]), **body}).encode()
    s.sendall(struct.pack("!I", len(data)) + data)
def receive():
    (n,) = struct.unpack("!I", s.recv(4, socket.MSG_WAITALL)); return json.loads(s.recv(n, socket.MSG_WAITALL))
send("init"); send("ckpt_init", prefix="run1", checkpoint_types={"model_checkpoint": 2, "data_checkpoint": 0})
send("ckpt_info_get"); print("asked", receive()["path"], flush=True)
send("ckpt_info_update", step=100, path="/c/100", checkpoint_type="model_checkpoint")
if os.environ["LOCAL_RANK"] == "0": send("ckpt_info_update", step=200, path="/c/200", checkpoint_type="model_checkpoint")
send("job_data", rank=int(os.environ["RANK"]), data="d" + os.environ["RANK"]); send("rank_labels", labels={"pp": "0"}); send("unknown", x=1)
send("heartbeat", step=7, loss="nan")
while not os.path.exists(sys.argv[1]): time.sleep(0.05)
if os.environ["LOCAL_RANK"] == "1": send("job_fault", rank=1, reason="MyReason", message="because")
time.sleep(60)
`;

test('what workers say', { timeout: 60000 }, async () => {
  const script = place.path('talk.py');
  writeFileSync(script, TALK);
  const run = await agent(['--nproc-per-node=2', script, place.path('fault')]);
  await run.ask('/start', { ...START, progress: { run1: { progressData: '/c/50', progressCount: 50 } } });
  const seen = await until('both have spoken', async () => {
    const status = await run.status();
    return status.worker_data?.length === 2 && status.progress?.run1.progressCount === 100 && status.workers.every((one) => one.step === 7) && status;
  });
  assert.match(run.out, /asked \/c\/50/, 'what all have agreed on');
  assert.deepEqual(seen.progress, { run1: { progressData: '/c/100', progressCount: 100 } }, 'the step that both have written');
  assert.deepEqual(seen.worker_data.find((one) => one.rank === 1), { rank: 1, group_rank: 0, local_rank: 1, failed: false, data: 'd1' });
  assert.deepEqual(seen.rank_labels, { pp: '0' });
  assert.equal(seen.workers[0].loss, 'nan');
  writeFileSync(place.path('fault'), '');
  const faulted = await run.state('faulted');
  assert.deepEqual([faulted.reason, faulted.message], ['MyReason', 'Local rank 1 reported a fault: because']);
  await run.ask('/stop', {});
  const ready = await run.state('ready');
  assert.equal(ready.progress.run1.progressCount, 100, 'the operator still hears of it');
});

test('rules that change while it runs', { timeout: 60000 }, async () => {
  const run = await agent(['--no-python', '/bin/sh', '-c', 'while :; do echo tick; sleep 0.1; done']);
  await run.ask('/start', { ...START, log_monitoring_configuration: [{ name: 'Tick', logPattern: 'tick', expectedRecurringFrequencyInSeconds: 5 }] });
  await run.ask('/update', { ...START, log_monitoring_configuration: [{ name: 'Tock', logPattern: 'tock', expectedStartCutOffInSeconds: 1 }] });
  const faulted = await run.state('faulted');
  assert.deepEqual([faulted.reason, faulted.message], ['LogHang_Tock', 'No line of rule Tock within 1 s.']);
});

test('asked to leave gently: SIGUSR1, and killed when it does not', { timeout: 60000 }, async () => {
  const leaves = await agent([TRAIN, place.path('gentle'), '100000']);
  await leaves.ask('/start', { ...START, master_port: await freePort() });
  await until('it trains', () => /step 3 /.test(leaves.out));
  await leaves.ask('/stop', { is_graceful: true, timeout: 30 });
  await leaves.state('ready');
  assert.match(leaves.out, /rank 0 leaves at step \d+/);
  const stays = await agent(['--no-python', '/bin/bash', '-c', "trap '' USR1 TERM; echo ready; while :; do sleep 0.1; done"]);
  await stays.ask('/start', START);
  await until('it runs', () => stays.out.includes('ready'));
  const began = Date.now();
  await stays.ask('/stop', { is_graceful: true, timeout: 1 });
  await stays.state('ready');
  assert.ok(Date.now() - began >= 900);
});

// --- the example of the documentation ------------------------------------------------------------------------

test('docs/examples/train_ddp.py: asked to leave it goes on with another number of nodes, to the same loss', { timeout: 180000 }, async () => {
  const example = (name) => [join(root, 'docs/examples/train_ddp.py'), place.path(name), '400'], env = { PYTHONPATH: join(root, 'agents/launcher/python'), OMP_NUM_THREADS: '1' };
  const final = (run) => Number(/\[step 400\] loss (\S+)/.exec(run.out)?.[1]);
  const reference = place.start(['--standalone', ...example('reference')], { env });
  const agents = await Promise.all([0, 1].map(() => agent(example('elastic'), { env })));
  const start = async (nodes, faultCount) => {
    const master_port = await freePort();
    await Promise.all(agents.slice(0, nodes).map((one, rank) => one.ask('/start', { ...START, rank, nnodes: nodes, faultCount, master_port })));
  };
  const leave = async (nodes, step) => {
    await until(`step ${step}`, async () => (await agents[0].status()).workers[0]?.step >= step);
    await Promise.all(agents.slice(0, nodes).map((one) => one.ask('/stop', { is_graceful: true, timeout: 60 })));
    await Promise.all(agents.slice(0, nodes).map((one) => one.state('ready', 60000)));
  };
  await start(2, 0);
  await leave(2, 20);
  await start(1, 1);
  await leave(1, 60);
  await start(2, 2);
  await agents[0].state('completed', 60000);
  assert.match(agents[0].out, /rank 0 saved and leaves behind step \d+/);
  assert.match(agents[0].out, /rank 0 of 1 goes on behind step [2-9]\d/);
  assert.equal(await reference.over, 0, reference.err);
  assert.ok(Math.abs(final(agents[0]) - final(reference)) < 1e-9, `${final(agents[0])} and ${final(reference)}`);
  await Promise.all(agents.map((one) => one.ask('/shutdown', {})));
});

// --- two nodes -----------------------------------------------------------------------------------------------

async function job(name, wrong, options = {}) {
  const agents = await Promise.all([0, 1].map(() => agent(['--nproc-per-node=2', TRAIN, place.path(name), String(STEPS), ...wrong.map(String)])));
  const operator = new Operator(agents, { rules: wrong[0] === 'hang' ? [...RULES, HANG] : RULES, port: await freePort(), ...options });
  await operator.start();
  const completed = await operator.run();
  const out = agents.map((one) => one.out).join('');
  await Promise.all(agents.map((one) => one.ask('/shutdown', {})));
  return { completed, operator, out, loss: lossOf(out), codes: await Promise.all(agents.map((one) => one.over)) };
}

let wanted;
test('two nodes train', { timeout: 120000 }, async () => {
  const { completed, operator, loss, codes, out } = await job('undisturbed', []);
  assert.deepEqual([completed, operator.faults, codes], [true, [], [0, 0]]);
  assert.match(out, /\[default1\]:Train Epoch 0: rank 3 of 4 from step 0/);
  wanted = loss;
  assert.ok(wanted);
});

for (const [what, rank, reason, said] of [
  ['hang', 3, 'LogHang_JobHangingDetection', null], ['spike', 2, 'LogSlow_LossSpikeDetection', 1], ['memory', 3, 'LogFault_GPUError', 1],
  ['kill', 3, 'WorkerCrash', 1],
])
  test(`${what} on rank ${rank}: both nodes restart their processes and end with the same loss`, { timeout: 120000 }, async () => {
    const { completed, operator, loss, codes } = await job(what, [what, rank, 8]);
    assert.equal(completed, true);
    // On a busy machine a step may last longer than the rule against hangs allows: then there is one more restart, and that is right.
    assert.deepEqual([...new Set(operator.faults.map((one) => one.reason))], [reason], JSON.stringify(operator.faults));
    if (what !== 'hang') assert.equal(operator.faults.length, 1, JSON.stringify(operator.faults));
    if (said !== null) assert.equal(operator.faults[0].rank, String(said), 'the node that it began on');
    assert.equal(loss, wanted);
    assert.deepEqual(codes, [0, 0]);
  });

test("an application's fault: the operator stops after its limit", { timeout: 120000 }, async () => {
  const { completed, operator, codes } = await job('bug', ['bug', 2, 3], { restartsMax: 2 });
  assert.equal(completed, false);
  assert.equal(operator.faults.length, 3);
  assert.ok(operator.faults.every((fault) => fault.reason === 'WorkerCrash'));
  assert.ok(codes.includes(1));
});
