// Where instances live: real agents tell it over TLS, and it is read in REST, with hpctl, through the real AWS SDK and by
// lifecycle scripts. The machines are people's (provider manual).
import { DescribeClusterNodeCommand, ListClusterNodesCommand, SageMakerClient } from '@aws-sdk/client-sagemaker';
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { networkInterfaces, tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { agentPath, hpctlPath, hpdPath } from './lib/programs.mjs';
import { until } from './lib/world.mjs';

const dir = mkdtempSync(join(tmpdir(), 'holdfast-address.'));
const env = { ...process.env, HOME: dir };
delete env.HPCTL_CONFIG;
const outside = Object.values(networkInterfaces()).flat().find((i) => !i.internal && i.family === 'IPv4')?.address;
const SLOW = 60000;
const running = new Set();
let port, client;

function run(program, args) {
  const child = spawn(program, args, { stdio: ['ignore', 'ignore', 'pipe'] });
  child.log = '';
  child.stderr.on('data', (d) => (child.log += d));
  child.gone = new Promise((done) => child.once('exit', done));
  running.add(child);
  return child;
}

async function end(child) {
  child.kill('SIGTERM');
  await child.gone;
  running.delete(child);
}

function hpctl(...args) {
  const { status, stdout, stderr } = spawnSync(hpctlPath, args, { encoding: 'utf8', env });
  if (status !== 0) throw new Error(`hpctl ${args.join(' ')}: exit ${status}: ${stderr}`);
  return stdout;
}
const json = (...args) => JSON.parse(hpctl(...args, '-o', 'json'));

// The agent of a machine; started again with other arguments it is the same machine.
function start(name, { host = '127.0.0.1', args = [] } = {}) {
  const at = join(dir, name);
  mkdirSync(at, { recursive: true });
  writeFileSync(join(at, 'token'), json('token', 'create', '--cluster', 'bare', '--enrollment', '--node', name).secret, { mode: 0o600 });
  writeFileSync(join(at, 'boot_id'), `boot-of-${name}\n`);
  writeFileSync(join(at, 'kmsg'), 'Linux version 6.1.0-test\n');
  return run(agentPath, ['--server', `https://${host}:${port}`, '--fingerprint', env.HPCTL_FINGERPRINT, '--state-dir', join(at, 'agent'), '--instance-id', `i-${name}`, '--token-file', join(at, 'token'), '--kmsg', join(at, 'kmsg'), '--boot-id-file', join(at, 'boot_id'), ...args]);
}

const node = (name) => json('node', 'describe', name);
const ready = (name) => until(`${name} is ready`, () => node(name).state === 'ready', SLOW);
const told = (name, address) => until(`${name} is at ${address}`, () => node(name).address === address, SLOW);
const details = async (NodeLogicalId) => (await client.send(new DescribeClusterNodeCommand({ ClusterName: 'bare', NodeLogicalId }))).NodeDetails;

before(async () => {
  const config = join(dir, 'hpd.yaml');
  writeFileSync(config, JSON.stringify({ agents: { heartbeatInterval: '500ms', silentAfter: '10s' }, recovery: { verifyQuiet: '1s', retryMin: '100ms', retryMax: '1s' } })); // JSON is YAML
  const hpd = run(hpdPath, ['--state-dir', join(dir, 'state'), '--listen', '0.0.0.0:0', '--config', config]);
  const [, fingerprint, at] = await until('hpd listens', () => {
    if (hpd.exitCode !== null) throw new Error(hpd.log);
    return /fingerprint (sha256:\S+)[^]*listening on https:\/\/\S+:(\d+),/.exec(hpd.log);
  });
  port = at;
  Object.assign(env, { HPCTL_URL: `https://127.0.0.1:${port}`, HPCTL_FINGERPRINT: fingerprint, HPCTL_TOKEN: readFileSync(join(dir, 'state/admin.token'), 'utf8').trim() });
  const source = join(dir, 'source');
  mkdirSync(source);
  writeFileSync(join(source, 'on_create.sh'), `#!/bin/sh\ncp "$1" "${dir}/resources-$$"\n`);
  const lifeCycleConfig = { sourceS3Uri: `file://${source}`, onCreate: 'on_create.sh' };
  const group = (name, instanceCount, more) => ({ name, instanceCount, nodeNames: `${name}-[1-${instanceCount}]`, provider: 'manual', ...more });
  const file = join(dir, 'cluster.yaml');
  writeFileSync(file, JSON.stringify({ name: 'bare', orchestrator: 'none', instanceGroups: [group('head', 1), group('gpu', 3), group('late', 1, { lifeCycleConfig })] }));
  hpctl('cluster', 'create', '-f', file);
  const key = json('access-key', 'create', '--name', 'sdk', '--role', 'viewer');
  client = new SageMakerClient({ endpoint: env.HPCTL_URL, region: 'us-west-2', credentials: { accessKeyId: key.accessKeyId, secretAccessKey: key.secretAccessKey }, requestHandler: { httpsAgent: { rejectUnauthorized: false } } });
});

after(async () => {
  client?.destroy();
  for (const child of running) await end(child);
  rmSync(dir, { recursive: true, force: true });
});

test('what a person says is told, IPv4 and IPv6, and again when it changes', async () => {
  let head = start('head-1', { args: ['--address', '10.20.1.21'] });
  start('gpu-1', { args: ['--address', '2001:DB8:0::22'] });
  await Promise.all([ready('head-1'), ready('gpu-1'), told('head-1', '10.20.1.21'), told('gpu-1', '2001:db8::22')]);
  assert.match(hpctl('node', 'describe', 'gpu-1'), /^Address +2001:db8::22$/m);
  assert.equal(json('node', 'list').find((n) => n.name === 'head-1').address, '10.20.1.21');
  let aws = await details('head-1');
  assert.deepEqual([aws.PrivatePrimaryIp, aws.PrivatePrimaryIpv6], ['10.20.1.21', undefined]);
  aws = await details('gpu-1');
  assert.deepEqual([aws.PrivatePrimaryIp, aws.PrivatePrimaryIpv6, aws.PrivateDnsHostname], [undefined, '2001:db8::22', undefined]);
  await end(head);
  head = start('head-1', { args: ['--address', '10.20.1.99'] });
  await told('head-1', '10.20.1.99');
  assert.equal((await details('head-1')).PrivatePrimaryIp, '10.20.1.99');
});

// The machine's own key, which the agent reads like anybody; ssh itself takes what is written, and refuses another machine's.
const HOST_KEY = '/etc/ssh/ssh_host_ed25519_key.pub';
test('ssh knows each node\'s machine by the key that its agent tells', { skip: existsSync(HOST_KEY) ? false : 'this machine has no host key' }, async () => {
  const [type, key] = readFileSync(HOST_KEY, 'utf8').split(' ');
  const lines = await until('both agents have told of it', () => {
    const shown = hpctl('node', 'known-hosts').trim().split('\n');
    return shown.length === 2 && shown;
  });
  assert.deepEqual(lines, [`gpu-1,2001:db8::22 ${type} ${key.trim()}`, `head-1,10.20.1.99 ${type} ${key.trim()}`]);
  assert.equal(hpctl('node', 'known-hosts', 'head-1').trim(), lines[1]);
  assert.equal(hpctl('node', 'known-hosts', 'gpu-3'), '');
  assert.deepEqual(json('node', 'known-hosts', 'gpu-1').map((k) => [k.node, k.address, k.type, k.key]), [['gpu-1', '2001:db8::22', type, key.trim()]]);
  const file = join(dir, 'known_hosts');
  writeFileSync(file, `${lines.join('\n')}\n`);
  const found = spawnSync('ssh-keygen', ['-F', 'head-1', '-f', file], { encoding: 'utf8' });
  assert.equal(found.status, 0, found.stderr);
  assert.match(found.stdout, /found: line 2/);
  assert.equal(spawnSync('ssh-keygen', ['-F', 'gpu-2', '-f', file]).status, 1);
});

test('the connection\'s own end is told where others can reach it', { skip: outside ? false : 'this machine has no address but the loopback' }, async () => {
  start('gpu-2', { host: outside });
  await told('gpu-2', outside);
  assert.equal((await details('gpu-2')).PrivatePrimaryIp, outside);
});

test('a loopback is nobody\'s address', async () => {
  start('gpu-3');
  await ready('gpu-3');
  assert.equal(node('gpu-3').address, undefined);
  assert.equal((await details('gpu-3')).PrivatePrimaryIp, undefined);
  const { ClusterNodeSummaries } = await client.send(new ListClusterNodesCommand({ ClusterName: 'bare' }));
  assert.ok(ClusterNodeSummaries.length >= 3);
  assert.equal((await details('gpu-3')).PrivateDnsHostname, undefined);
  assert.equal((await details('head-1')).PrivateDnsHostname, 'ip-10-20-1-99.holdfast.internal');
});

test('lifecycle scripts read the addresses of every group', async () => {
  start('late-1', { args: ['--address', '10.20.1.50'] });
  await ready('late-1');
  const [name] = spawnSync('ls', [dir], { encoding: 'utf8' }).stdout.split('\n').filter((n) => n.startsWith('resources-'));
  const { InstanceGroups } = JSON.parse(readFileSync(join(dir, name), 'utf8'));
  const seen = InstanceGroups.flatMap((g) => g.Instances.map((i) => [g.Name, i.InstanceName, i.InstanceId, i.CustomerIpAddress, i.AgentIpAddress]));
  const line = (group, n, address) => [group, `${group}-${n}`, `i-${group}-${n}`, address, address];
  assert.deepEqual(seen.sort(), [line('gpu', 1, '2001:db8::22'), ...(outside ? [line('gpu', 2, outside)] : []), line('gpu', 3, ''), line('head', 1, '10.20.1.99'), line('late', 1, '10.20.1.50')]);
});

test('an address that is none does not start an agent', () => {
  for (const bad of ['gpu-1', '10.0.0.1:22', '0.0.0.0', '', 'ff02::1', '10.0.0.0/8']) {
    const { status, stderr } = spawnSync(agentPath, ['--server', 'http://127.0.0.1:1', '--state-dir', join(dir, 'none'), '--address', bad], { encoding: 'utf8' });
    assert.equal(status, 2, bad);
    assert.match(stderr, /--address cannot be/);
  }
});
