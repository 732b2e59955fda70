// Reboots by the methods of a group: a real hpd, machines of the local provider with real agents, an agent's command that reboots its
// machine, a real sshd, and OpenStack's emulator of a BMC.
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import { afterEach, test } from 'node:test';
import { Local } from './lib/local.mjs';
import { agentService, hpdPath, root } from './lib/programs.mjs';
import { World, until } from './lib/world.mjs';

const SLOW = 180000;
const BUS = 'NVRM: Xid (PCI:0000:b9:00): 79, pid=1234, name=python, GPU has fallen off the bus.';
let world, lab;

afterEach(async () => {
  lab?.(['stop', join(world.dir, 'sshd')]);
  lab = undefined;
  await world?.end();
  world = undefined;
});

// One node; its agent has these further options.
async function open(rebootMethods, agent, { recovery = {}, more = () => ({}) } = {}) {
  world = new Local({ recovery: { rebootDelay: '0s', ...recovery } });
  const config = JSON.parse(readFileSync(world.config, 'utf8'));
  config.providers.local.services = [{ ...agentService, command: [...agentService.command, ...agent] }];
  writeFileSync(world.config, JSON.stringify({ ...config, ...(await more()) }));
  await world.start();
  await world.create(1, { instanceGroups: [{ name: 'w', instanceCount: 1, provider: 'local', rebootMethods }] });
  await world.ready(SLOW);
}

const allowed = (command = `exec ${hpdPath} machine-reboot "$HOLDFAST_INSTANCE_DIR"`) => ['--allow-reboot', '--reboot-command', command];
const boots = async () => (world.file((await world.node('w-1')).instanceId, 'log/machine.log').match(/rebooted for \S+/g) ?? []);
const ended = () => until('the reboot is over', async () => (await world.repairs('w-1')).find((o) => o.kind === 'reboot' && ['succeeded', 'failed'].includes(o.state)), SLOW);
const tries = (operation) => operation.rebootTries.map((t) => `${t.method} ${t.outcome}`);

test('the agent reboots its machine', async () => {
  await open(['agent', 'provider'], allowed());
  await world.kernel('w-1', BUS);
  const done = await ended();
  assert.equal(done.state, 'succeeded', done.error);
  assert.deepEqual(tries(done), ['agent rebooted']);
  assert.match((await boots()).join(), /^rebooted for inside\/[0-9a-f-]+$/);
  await world.ready(SLOW);
  assert.match((await world.get('/v1/clusters/demo/nodes/w-1/explanation')).text, /1\. .*: a reboot by the node's agent rebooted the machine after /);
});

// sshd-lab's one sshd stands for all machines.
function sshd() {
  const at = (name) => join(world.dir, 'sshd', name);
  lab = spawnSync.bind(undefined, join(root, 'tests/support/sshd-lab'));
  const run = lab(['start', at('')], { encoding: 'utf8' });
  assert.equal(run.status, 0, run.stderr);
  return {
    ssh: {
      address: '127.0.0.1',
      port: Number(readFileSync(at('port'), 'utf8')),
      user: userInfo().username,
      keyFile: at('key'),
      knownHosts: at('known_hosts'),
      command: `exec ${hpdPath} machine-reboot ${world.instances}/%i`,
      bootIdFile: `${world.instances}/%i/boot_id`,
    },
  };
}

test('a command over SSH reboots the machine', async () => {
  await open(['ssh'], [], { more: sshd });
  await world.kernel('w-1', BUS);
  const done = await ended();
  assert.equal(done.state, 'succeeded', done.error);
  assert.deepEqual(tries(done), ['ssh rebooted']);
  assert.match((await boots()).join(), /^rebooted for inside\/[0-9a-f-]+$/);
});

// What the emulated BMC says of its machine's power: a restart takes it off first, and then the machine is cut.
async function hear() {
  const server = createServer((request, reply) => {
    let body = '';
    request.on('data', (data) => (body += data));
    request.on('end', () => {
      reply.end();
      const { power_state: power, pending_power: pending } = JSON.parse(body);
      if (power !== 'Off' || !/Restart/.test(pending?.power_state)) return;
      spawn(hpdPath, ['machine-reboot', join(world.instances, world.directories()[0])], { stdio: 'ignore' });
    });
  });
  await new Promise((done) => server.listen(0, '127.0.0.1', done));
  return server;
}

test('a BMC reboots the machine, by the first kind of reset that it offers', async (t) => {
  const power = await hear();
  const dir = mkdtempSync(join(tmpdir(), 'holdfast-redfish.'));
  const bmc = (...args) => spawnSync(join(root, 'tests/support/redfish-lab'), [args[0], dir, ...args.slice(1)], { encoding: 'utf8', timeout: 330000 });
  try {
    const started = bmc('start', `http://127.0.0.1:${power.address().port}`);
    if (started.status === 77) return void t.skip(started.stderr.trim().split('\n').at(-1));
    assert.equal(started.status, 0, started.stderr);
    const at = (name) => readFileSync(join(dir, name), 'utf8');
    const address = `https://127.0.0.1:${at('port')}`;
    const credentials = JSON.stringify({ [address]: { user: 'admin', password: 'pass word', fingerprint: at('fingerprint') } });
    writeFileSync(join(dir, 'bmc.yaml'), credentials, { mode: 0o600 });
    await open(['bmc-cycle', 'bmc'], [], { more: () => ({ bmc: { address, credentialsFile: join(dir, 'bmc.yaml') } }) });
    await world.kernel('w-1', BUS);
    const done = await ended();
    assert.equal(done.state, 'succeeded', JSON.stringify(done));
    assert.deepEqual(tries(done), ['bmc-cycle refused', 'bmc-graceful rebooted']);
    assert.match(done.rebootTries[0].detail, /it does not offer PowerCycle$/);
    assert.equal((await boots()).length, 1);
  } finally {
    bmc('stop');
    power.close();
    rmSync(dir, { recursive: true, force: true });
  }
});

test('Slurm reboots the node by its RebootProgram, and the node comes back through the return gate', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'holdfast-reboot.'));
  process.env.LAB_REBOOT_PROGRAM = join(dir, 'program');
  writeFileSync(process.env.LAB_REBOOT_PROGRAM, `#!/bin/sh\nexec ${hpdPath} machine-reboot "$HOLDFAST_INSTANCE_DIR"\n`, { mode: 0o755 });
  const slurm = new World({ nodes: 1, cluster: false });
  try {
    await slurm.start();
    await slurm.createCluster({ instanceGroups: [{ name: 'workers', instanceCount: 1, nodeNames: 'gpu-1', rebootMethods: ['scheduler'] }] });
    slurm.kernel('gpu-1', BUS);
    await slurm.repaired('gpu-1', 'reboot');
    const done = slurm.operations('gpu-1').find((o) => o.kind === 'reboot');
    assert.deepEqual(tries(done), ['scheduler rebooted']);
    const log = readFileSync(join(slurm.dir, 'instances', slurm.node('gpu-1').instanceId, 'log/machine.log'), 'utf8');
    assert.equal((log.match(/rebooted for inside/g) ?? []).length, 1);
  } finally {
    delete process.env.LAB_REBOOT_PROGRAM;
    await slurm.end();
    rmSync(dir, { recursive: true, force: true });
  }
});

test('what was accepted and brings no new boot gives way to the next method, and what may not be asked is not', async () => {
  await open(['scheduler', 'agent', 'provider'], allowed('true'), { recovery: { rebootStuckAfter: '2s' } });
  await world.kernel('w-1', BUS);
  const done = await ended();
  assert.equal(done.state, 'succeeded', done.error);
  assert.deepEqual(tries(done), ['scheduler refused', 'agent no-new-boot', 'provider rebooted']);
  assert.equal(done.rebootTries[0].detail, 'the cluster has no scheduler');
  assert.equal((await boots()).length, 1);
  const refused = await world.call('POST', '/v1/clusters', { name: 'other', orchestrator: 'none', instanceGroups: [{ name: 'w', instanceCount: 1, provider: 'local', rebootMethods: ['agent', 'bmc'] }] });
  assert.match(refused.body.detail, /instanceGroups\[0\]\.rebootMethods names bmc-graceful, and this hpd's configuration has no section "bmc"/);
});

test('an agent that may not reboot is not asked, and hpd that is killed meanwhile reboots once', async () => {
  await open(['agent', 'provider'], []);
  await world.kernel('w-1', BUS);
  await until('it is tried', async () => (await world.repairs('w-1')).some((o) => o.rebootTries), SLOW);
  await world.stopHpd('SIGKILL');
  await world.start();
  const done = await ended();
  assert.deepEqual(tries(done).slice(0, 1), ['agent refused']);
  assert.equal(done.rebootTries[0].detail, 'hp-agent runs there without --allow-reboot');
  assert.equal((await boots()).length, 1);
});
