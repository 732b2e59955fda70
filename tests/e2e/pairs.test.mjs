// The connectivity test between real agents, each at a loopback address of its own, with the real fi_pingpong over libfabric's tcp
// provider: who is bad is found by a second round, and who cannot be told from its only partner is not blamed.
import assert from 'node:assert/strict';
import { chmodSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, test } from 'node:test';
import { Local } from './lib/local.mjs';
import { agentService } from './lib/programs.mjs';
import { until } from './lib/world.mjs';

const SLOW = 300000;
let world;

afterEach(async () => {
  await world?.end();
  world = undefined;
});

// w-3 is at 127.0.7.3, and finds its tools in tools/w-3 before those of the machine.
async function open(count) {
  const made = new Local();
  world = made;
  const start = join(made.dir, 'start');
  writeFileSync(start, `node=$1; shift\nPATH=${made.dir}/tools/$node:/usr/bin:/bin\nexport PATH\nexec "$@" --address 127.0.7.\${node##*-}\n`);
  for (let i = 1; i <= count; i++) mkdirSync(join(made.dir, 'tools', `w-${i}`), { recursive: true });
  const config = JSON.parse(readFileSync(made.config, 'utf8'));
  config.providers.local.services = [{ ...agentService, command: ['/bin/sh', start, '{node}', ...agentService.command] }];
  writeFileSync(made.config, JSON.stringify(config));
  await made.start();
  await made.create(count);
  await made.ready(SLOW);
}

// What only this node has in the place of fi_pingpong.
function spoil(node, body, tool = 'fi_pingpong') {
  const path = join(world.dir, 'tools', node, tool);
  writeFileSync(path, `#!/bin/sh\n${body}\n`);
  chmodSync(path, 0o755);
  return path;
}

async function check(nodes) {
  const reply = await world.call('POST', '/v1/clusters/demo/checks', { ...(nodes ? { nodes } : { group: 'w' }), checks: ['instance-connectivity'] });
  assert.equal(reply.status, 202, JSON.stringify(reply.body));
  assert.deepEqual(reply.body.refused, []);
  return reply.body.checks.map((c) => c.id);
}

// By node, once all have ended.
async function results(ids) {
  const runs = await until('the checks have ended', async () => {
    const all = await Promise.all(ids.map((id) => world.get(`/v1/checks/${id}`)));
    return all.every((run) => run.finishedAt) && all;
  }, SLOW);
  return Object.fromEntries(runs.map((run) => [run.node, { run: run.state, ...run.tests.find((t) => t.name === 'CONNECTIVITY') }]));
}

test('of five nodes the bad one is found by other partners, although hpd dies meanwhile', async () => {
  await open(5);
  const spoilt = spoil('w-3', `echo >>${world.dir}/tries; echo "no way out" >&2; exit 1`);
  const ids = await check();
  await until('the bad one has tried', () => readFileSync(join(world.dir, 'tries'), 'utf8').length > 0, SLOW);
  await world.stopHpd('SIGKILL');
  await world.start();
  const by = await results(ids);
  assert.equal(by['w-3'].state, 'failed', JSON.stringify(by));
  assert.match(by['w-3'].detail, /^failed with w-\d(, w-\d)+, which passed with others$/);
  const partner = /^failed with (w-\d)/.exec(by['w-3'].detail)[1];
  for (const node of ['w-1', 'w-2', 'w-4', 'w-5']) {
    assert.equal(by[node].state, 'passed', JSON.stringify(by));
    const speeds = by[node].measures.filter((m) => / MB\/s$/.test(m.name));
    assert.ok(speeds.length > 0 && speeds.every((m) => Number(m.value) > 0), JSON.stringify(by[node]));
    // What it was tested with says what it is.
    assert.ok(by[node].measures.some((m) => m.name === 'tested with' && m.value === 'fi-pingpong-tcp'));
  }
  assert.match(by[partner].detail, /^failed with w-3, and passed with w-\d.*: that is no fault of this node$/);
  rmSync(spoilt); // what was wrong with it goes with a reboot
  await until('it was rebooted', async () => (await world.repairs('w-3')).some((o) => o.kind === 'reboot' && o.state === 'succeeded' && o.code === 'deep.connectivity'), SLOW);
  await world.ready(SLOW);
  for (const node of ['w-1', 'w-2', 'w-4', 'w-5']) assert.deepEqual(await world.repairs(node), []);
});

test('a pair that fails is told of and nobody is repaired, and one alone is not tested', async () => {
  await open(2);
  spoil('w-2', 'exit 1');
  const by = await results(await check());
  for (const [node, other] of [['w-1', 'w-2'], ['w-2', 'w-1']]) {
    assert.deepEqual([by[node].run, by[node].state], ['skipped', 'skipped'], JSON.stringify(by));
    assert.match(by[node].detail, new RegExp(`^inconclusive: failed with ${other}, .* nobody is blamed$`));
  }
  await world.ready(SLOW);
  const alone = await results(await check(['w-1']));
  assert.equal(alone['w-1'].state, 'skipped');
  assert.match(alone['w-1'].detail, /^there was no other node of its type of instance to be tested with/);
  await world.ready(SLOW);
  for (const node of ['w-1', 'w-2']) assert.deepEqual(await world.repairs(node), []);
});

test('a tool that cannot be started on any machine is followed by the next one', async () => {
  await open(2);
  for (const node of ['w-1', 'w-2']) {
    spoil(node, 'exit 61'); // no data available: no provider of that name
    spoil(node, `echo "$*" >>${world.dir}/mpirun; printf '  0:   65536 bytes     20 times -->   8000.00 Mbps in      60.00 usec\\n'`, 'mpirun');
    spoil(node, 'exit 1', 'NPopenmpi'); // run by the launcher alone
  }
  const by = await results(await check());
  for (const node of ['w-1', 'w-2']) {
    assert.equal(by[node].state, 'passed', JSON.stringify(by));
    assert.deepEqual(by[node].measures.filter((m) => / with$/.test(m.name)).map((m) => `${m.name} ${m.value}`), ['tested with fi-pingpong-tcp', 'then with mpi-netpipe']);
  }
  assert.match(readFileSync(join(world.dir, 'mpirun'), 'utf8'), /--host 127\.0\.7\.\d:1,127\.0\.7\.\d:1 -np 2 NPopenmpi/);
  await world.ready(SLOW);
});
