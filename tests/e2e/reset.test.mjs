// The reset of a GPU: a real hpd, the local provider and real agents, with a stand-in for nvidia-smi that says it is one.
import assert from 'node:assert/strict';
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, test } from 'node:test';
import { Local } from './lib/local.mjs';
import { agentService } from './lib/programs.mjs';
import { until } from './lib/world.mjs';

const SLOW = 180000;
const UNCONTAINED = 'NVRM: Xid (PCI:0000:b9:00): 95, pid=1234, name=python, Uncontained ECC error';
let world;

afterEach(async () => {
  await world?.end();
  world = undefined;
});

// Machines whose nvidia-smi leaves a line in the file "resets" of their state directory, and then does that.
async function open(body, recovery = {}) {
  const made = new Local({ recovery });
  world = made;
  const tools = join(made.dir, 'tools');
  mkdirSync(tools);
  writeFileSync(join(tools, 'nvidia-smi'), `#!/bin/sh\n# A stand-in for nvidia-smi: there is no GPU here.\ntest "$1" = --gpu-reset || { echo "stand-in: NVIDIA-SMI has failed"; exit 9; }\necho "$*" >>"$HOLDFAST_INSTANCE_DIR/resets"\n${body}\n`);
  chmodSync(join(tools, 'nvidia-smi'), 0o755);
  const [program, ...rest] = agentService.command;
  const command = ['/usr/bin/env', `PATH=${tools}:${process.env.PATH}`, program, ...rest];
  const config = JSON.parse(readFileSync(made.config, 'utf8'));
  config.providers.local.services = [{ ...agentService, command }];
  writeFileSync(made.config, JSON.stringify(config));
  await made.start();
  await made.create(1);
  await made.ready(SLOW);
  return made;
}

const instance = async () => (await world.node('w-1')).instanceId;
const resets = async () => (world.file(await instance(), 'resets') ?? '').split('\n').filter(Boolean);
const repair = (kind, state) => until(`a ${kind} that ${state}`, async () => (await world.list('/v1/operations?cluster=demo')).find((o) => o.kind === kind && o.state === state), SLOW);
const ready = () => until('the node is back', async () => (await world.node('w-1')).state === 'ready', SLOW);

test('a GPU is reset, and its node comes back without a reboot', async () => {
  await open('echo "GPU 00000000:B9:00.0 was successfully reset."');
  const before = await instance();
  await world.kernel('w-1', UNCONTAINED);
  const done = await repair('reset', 'succeeded');
  await ready();
  assert.deepEqual(done.steps.map((s) => s.name), ['mark', 'drain', 'reset', 'verify', 'resume']);
  assert.deepEqual(await resets(), ['--gpu-reset -i 0000:b9:00.0']);
  assert.equal(await instance(), before);
  assert.deepEqual((await world.list('/v1/operations?cluster=demo')).filter((o) => o.kind === 'reboot'), []);
  const told = (await world.events('device-reset')).map((e) => e.message).sort();
  assert.deepEqual(told, ['reset of 0000:b9:00 started', 'reset of 0000:b9:00 succeeded']);
});

test('a GPU that somebody has open is not reset: the node is rebooted', async () => {
  await open('echo "GPU 00000000:B9:00.0: In use by another client"; exit 1', { resetTimeLimit: '3s' });
  await world.kernel('w-1', UNCONTAINED);
  const failed = await repair('reset', 'failed');
  assert.match(failed.error, /^reset: nvidia-smi --gpu-reset .* In use by another client/);
  await repair('reboot', 'succeeded');
  await ready();
  assert.match((await world.get('/v1/clusters/demo/nodes/w-1/explanation')).text, /Rule reset-failed/);
});

test('hpd that is killed in the middle of a reset has it done once', async () => {
  await open('sleep 3');
  await world.kernel('w-1', UNCONTAINED);
  await until('it is begun', async () => (await resets()).length === 1, SLOW);
  await world.stopHpd('SIGKILL');
  await world.start();
  await repair('reset', 'succeeded');
  await ready();
  assert.equal((await resets()).length, 1);
});

test('a runner that is killed in the middle of a reset does not begin again: the node is rebooted', async () => {
  await open('sleep 600');
  await world.kernel('w-1', UNCONTAINED);
  await until('it is begun', async () => (await resets()).length === 1, SLOW);
  const state = JSON.parse(world.file(await instance(), 'agent/reset/state'));
  const stat = readFileSync(`/proc/${state.pid}/stat`, 'utf8').split(' ');
  process.kill(Number(stat[3]), 'SIGKILL'); // its parent is the runner
  const failed = await repair('reset', 'failed');
  assert.match(failed.error, /was interrupted, and whether the device was reset is not known/);
  await repair('reboot', 'succeeded');
  await ready();
  assert.equal((await resets()).length, 1);
});
