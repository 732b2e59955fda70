// Deep health checks on real machines: a real hpd, the local provider, real agents, and the real stress-ng.
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, test } from 'node:test';
import { SageMakerClient, DescribeClusterNodeCommand, ListClusterNodesCommand, StartClusterHealthCheckCommand } from '@aws-sdk/client-sagemaker';
import { Local } from './lib/local.mjs';
import { agentService, hpctlPath } from './lib/programs.mjs';
import { until } from './lib/world.mjs';

const SLOW = 180000;
let world;

afterEach(async () => {
  await world?.end();
  world = undefined;
});

// Machines that find the tools of a directory of the test's own before the real ones, when it has any.
async function open() {
  const made = new Local();
  world = made;
  made.tools = join(made.dir, 'tools');
  mkdirSync(made.tools);
  const service = { ...agentService, command: ['/usr/bin/env', `PATH=${made.tools}:/usr/bin:/bin`, ...agentService.command] };
  const config = JSON.parse(readFileSync(made.config, 'utf8'));
  config.providers.local.services = [service];
  config.checks = { stressTime: '2s' };
  writeFileSync(made.config, JSON.stringify(config));
  await made.start();
  await made.create(2);
  await made.ready(SLOW);
}

function tool(name, body) {
  const path = join(world.tools, name);
  writeFileSync(path, `#!/bin/sh\n${body}\n`);
  chmodSync(path, 0o755);
}

const nodes = async () => (await world.list('/v1/clusters/demo/nodes')).map((n) => n.name);
const checks = () => world.list('/v1/checks?cluster=demo');
const hpctl = (...args) => {
  const run = spawnSync(hpctlPath, args, { encoding: 'utf8', env: { ...process.env, HPCTL_URL: `http://127.0.0.1:${world.port}`, HPCTL_TOKEN: world.token } });
  assert.equal(run.status, 0, `hpctl ${args.join(' ')}: ${run.stdout}${run.stderr}`);
  return run.stdout;
};

test('a group is tested with the real stress-ng, and goes on as before', async () => {
  await open();
  const started = JSON.parse(hpctl('check', 'start', '-c', 'demo', '-g', 'w', '--quick', '-o', 'json'));
  assert.equal(started.checks.length, 2);
  const all = hpctl('check', 'watch', '-c', 'demo', '-g', 'w', '--timeout', '4m');
  for (const { node } of started.checks) assert.match(all, new RegExp(`^${node} passed`, 'm'));
  assert.match(all, /^all have ended$/m);
  assert.match(hpctl('check', 'watch', '-c', 'demo'), /^no deep health check goes on$/m);
  for (const { id, node } of started.checks) {
    const watched = hpctl('check', 'watch', id, '--timeout', '2m');
    assert.match(watched, /^HARDWARE_CHECK passed$/m);
    assert.match(watched, /^passed/m);
    const told = JSON.parse(hpctl('check', 'describe', id, '-o', 'json'));
    assert.deepEqual([told.state, told.node, told.failed], ['passed', node, 0]);
    const stress = told.tests.find((t) => t.name === 'HARDWARE_CHECK');
    assert.ok(stress.measures.some((m) => m.name === 'cpu bogo ops/s' && Number(m.value) > 0), JSON.stringify(stress));
    // What is not on this machine is said to be skipped, never passed.
    for (const t of told.tests) assert.ok(t.state === 'passed' || (t.state === 'skipped' && t.detail), JSON.stringify(t));
    const log = hpctl('check', 'logs', id);
    assert.match(log, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ info Executing Hardware stress check with command: stress-ng, and args: \[--cpu 32 --vm 2 --hdd 1 --fork 8 --switch 4 --timeout 2 --metrics\]$/m);
    assert.match(log, /^\S+Z info stress-ng success$/m);
  }
  await world.ready(SLOW);
  assert.match(hpctl('check', 'list', '-c', 'demo'), /passed/);
});

test('a machine that fails its test is rebooted, and what failed can be read', async () => {
  await open();
  const [name] = await nodes();
  tool('stress-ng', 'echo "stress-ng: fail:  [1] vm: detected 3 bit errors"; exit 2');
  const reply = await world.call('POST', '/v1/clusters/demo/checks', { nodes: [name] });
  assert.equal(reply.status, 202);
  const { id } = reply.body.checks[0];
  const watched = await until('the check has failed', async () => (await checks()).find((c) => c.id === id && c.state === 'failed'), SLOW);
  assert.match(watched.detail, /^HARDWARE_CHECK: stress-ng: vm: detected 3 bit errors/);
  const [line] = hpctl('check', 'logs', id).trim().split('\n').slice(-1);
  const { level, msg } = JSON.parse(line);
  assert.equal(level, 'error');
  assert.match(msg, /^Encountered FaultyInstance\. Replace the Instance\. Region: \S+, InstanceType: .*\. ERROR:HARDWARE_CHECK/);
  rmSync(join(world.tools, 'stress-ng')); // the reboot fixes it, and the same test shows that before it returns
  await until('it was rebooted', async () => (await world.repairs(name)).some((o) => o.kind === 'reboot' && o.state === 'succeeded' && o.code === 'deep.hardware-check'), SLOW);
  await world.ready(SLOW);
});

test('a check that is cancelled ends its tools, and hpd may die meanwhile', async () => {
  await open();
  const [name] = await nodes();
  tool('stress-ng', `echo $$ >${world.dir}/pid\nexec sleep 1000`);
  const reply = await world.call('POST', '/v1/clusters/demo/checks', { nodes: [name], profile: 'deep' });
  const { id } = reply.body.checks[0];
  const pid = await until('the tool runs', () => existsSync(join(world.dir, 'pid')) && Number(readFileSync(join(world.dir, 'pid'), 'utf8')), SLOW);
  const watch = spawn(hpctlPath, ['check', 'watch', id], { env: { ...process.env, HPCTL_URL: `http://127.0.0.1:${world.port}`, HPCTL_TOKEN: world.token } });
  let out = '', err = '';
  watch.stdout.on('data', (text) => (out += text));
  watch.stderr.on('data', (text) => (err += text));
  const watched = once(watch, 'close');
  await until('somebody watches', () => err.includes('  running\n'), SLOW);
  await world.stopHpd('SIGKILL');
  await until('the watcher has missed hpd', () => err.includes('Failed to connect'), SLOW);
  await world.start();
  process.kill(pid, 0); // it goes on
  await until('hpd asks for it again', async () => (await checks()).find((c) => c.id === id && c.state === 'running'), SLOW);
  hpctl('check', 'cancel', id);
  assert.deepEqual(await watched, [0, null], err);
  assert.equal(out, 'HARDWARE_CHECK cancelled: cancelled by token:admin\ncancelled: cancelled by token:admin\n');
  await until('the tool is gone', () => {
    try {
      process.kill(pid, 0);
      return false;
    } catch {
      return true;
    }
  }, SLOW);
  assert.equal((await checks()).find((c) => c.id === id).state, 'cancelled');
  await world.ready(SLOW);
});

test('StartClusterHealthCheck of the AWS SDK', async () => {
  await open();
  const key = (await world.call('POST', '/v1/access-keys', { name: 'sdk', role: 'operator' })).body;
  const sdk = new SageMakerClient({ endpoint: key.endpoint, region: 'hp-local-1', credentials: { accessKeyId: key.accessKeyId, secretAccessKey: key.secretAccessKey } });
  tool('stress-ng', `until [ -e ${world.dir}/go ]; do sleep 0.1; done`);
  const { ClusterNodeSummaries: [{ InstanceId: id }] } = await sdk.send(new ListClusterNodesCommand({ ClusterName: 'demo' }));
  const started = await sdk.send(new StartClusterHealthCheckCommand({ ClusterName: 'demo', DeepHealthCheckConfigurations: [{ InstanceGroupName: 'w', InstanceIds: [id], DeepHealthChecks: ['InstanceStress'] }] }));
  assert.match(started.ClusterArn, /:cluster\//);
  const status = async () => (await sdk.send(new DescribeClusterNodeCommand({ ClusterName: 'demo', NodeId: id }))).NodeDetails.InstanceStatus.Status;
  await until('it is being checked', async () => (await status()) === 'DeepHealthCheckInProgress', SLOW);
  writeFileSync(join(world.dir, 'go'), '');
  await until('it is back', async () => (await status()) === 'Running', SLOW);
  const [check] = await checks();
  assert.deepEqual([check.state, check.profile, check.instanceId], ['passed', 'deep', id]);
});
