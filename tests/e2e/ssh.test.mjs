// hpctl node exec and logs, which hpd runs; hpctl node ssh and ssh-config: OpenSSH's own ssh and a real sshd. The machine that has the key which its agent reports is let in to, and no other.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { Local, Speaker } from './lib/local.mjs';
import { hpctlPath, root } from './lib/programs.mjs';
import { until } from './lib/world.mjs';

const sshd = mkdtempSync(join(tmpdir(), 'holdfast-sshd.'));
const dir = () => join(sshd, 'lab');
const lab = (verb) => spawnSync(join(root, 'tests/support/sshd-lab'), [verb, dir()], { encoding: 'utf8' });
let world, speaker, other, login, target;

const hpctl = (...words) => spawnSync(hpctlPath, words, { encoding: 'utf8', env: { ...process.env, HPCTL_URL: `http://127.0.0.1:${world.port}`, HPCTL_TOKEN: world.token }, timeout: 60000 });

// What an agent says of its machine: its host key is the sshd's, or another.
async function tell(key, of = speaker) {
  const { status, body } = await world.call('POST', '/v1/agent/machine', { instanceId: of.instanceId, bootId: of.bootId, sentAtMs: Date.now(), hardwareKnown: true, checks: [],
    hardware: [{ kind: 'host-key', location: 'ssh-ed25519', detail: key }] }, { token: of.credential });
  assert.equal(status, 200, JSON.stringify(body));
}
const keyOf = (name) => readFileSync(join(dir(), `${name}.pub`), 'utf8').split(' ')[1].trim();

before(async () => {
  const run = lab('start');
  assert.equal(run.status, 0, run.stderr);
  const port = readFileSync(join(dir(), 'port'), 'utf8').trim();
  world = new Local({ speakers: true, config: { nodeCommands: { user: userInfo().username, keyFile: join(dir(), 'key'), port: Number(port), threads: 3 } } });
  await world.start();
  await world.create(2);
  [speaker, other] = await Promise.all(['w-1', 'w-2'].map((name) => new Speaker(world, name).enroll()));
  for (const one of [speaker, other]) await until('hpd knows its address', async () => {
    await one.beat({ address: '127.0.0.1' });
    return (await world.node(one.name)).address === '127.0.0.1';
  }, 60000);
  login = ['-p', port, '-i', join(dir(), 'key'), '-l', userInfo().username];
  const { id } = await world.get('/v1/clusters/demo');
  target = `sagemaker-cluster:${id}_w-${speaker.instanceId}`;
});

after(async () => {
  lab('stop');
  await world?.end();
  rmSync(sshd, { recursive: true, force: true });
});

test('hpd runs a command on the node, and records who ran what before it runs', async () => {
  await tell(keyOf('host-ed25519'));
  const ran = hpctl('node', 'exec', 'w-1', '--', 'echo out; echo err >&2; exit 9');
  assert.deepEqual([ran.status, ran.stdout, ran.stderr], [9, 'out\n', 'err\n']);
  assert.match((await world.events('operator-request', 'w-1'))[0].message, /token:admin runs a command: echo out; echo err >&2; exit 9/);
  const [entry] = await world.list('/v1/audit?cluster=demo');
  assert.deepEqual([entry.operation, entry.resource, entry.actor, entry.outcome], ['node-command.run', 'w-1', 'token:admin', 'succeeded']);
  const big = hpctl('node', 'exec', 'w-1', '--', "head -c 400000 /dev/zero | tr '\\0' x; printf '\\377'");
  assert.deepEqual([big.status, big.stdout.length], [0, 256 * 1024]);
  assert.match(big.stderr, /the output was cut/);
  assert.equal(hpctl('node', 'exec', 'w-1', '--', "printf 'a\\377b\\0c'").stdout, 'a?b?c');
});

test('logs ask for the newest lines of a journal of the node, by a command that is recorded', async () => {
  for (const [words, command] of [[[], 'journalctl -k --no-pager -o short-iso -n 200'], [['agent', '--lines', '3'], 'journalctl -u hp-agent --no-pager -o short-iso -n 3']]) {
    hpctl('node', 'logs', 'w-1', ...words);
    assert.equal((await world.events('operator-request', 'w-1'))[0].message.split('runs a command: ')[1], command);
  }
  for (const lines of ['0', '1001']) {
    const far = hpctl('node', 'logs', 'w-1', '--lines', lines);
    assert.deepEqual([far.status, /1 to 1000/.test(far.stderr)], [2, true], far.stderr);
  }
  const long = hpctl('node', 'exec', 'w-1', '--', `echo ${'x'.repeat(400)}`);
  assert.deepEqual([long.status, long.stdout], [2, ''], long.stderr); // no event would have all of it
  const wrong = hpctl('node', 'logs', 'w-1', 'dmesg');
  assert.deepEqual([wrong.status, /kernel, agent or all/.test(wrong.stderr)], [2, true], wrong.stderr);
});

test('a machine that shows another key than its agent reported, or none, gets no command', async () => {
  const none = hpctl('node', 'exec', 'w-2', '--', 'true');
  assert.equal(none.status, 7, none.stderr);
  assert.match(none.stderr, /has reported no SSH host key/);
  await tell(keyOf('key'), other);
  const ran = hpctl('node', 'exec', 'w-2', '--', 'echo out');
  assert.deepEqual([ran.status, ran.stdout], [1, '']);
  assert.match(ran.stderr, /another one than the agent's report holds/);
});

test('what hangs ends at its deadline, and holds up neither other nodes nor the end of hpd', async () => {
  await tell(keyOf('host-ed25519'));
  await tell(keyOf('host-ed25519'), other);
  const late = hpctl('node', 'exec', 'w-1', '--timeout', '1s', '--', 'sleep 300');
  assert.equal(late.status, 1, late.stderr);
  assert.match(late.stderr, /in time/);
  const ask = (node, command) => world.call('POST', `/v1/clusters/demo/nodes/${node}/commands`, { command, timeoutSeconds: 600 });
  for (let i = 0; i < 2; i++) assert.equal((await ask('w-1', 'sleep 300')).status, 202);
  const third = await ask('w-1', 'true');
  assert.deepEqual([third.status, third.body.code], [409, 'limit-exceeded'], JSON.stringify(third.body));
  assert.equal((await ask('w-2', 'true')).status, 202);
  assert.deepEqual(hpctl('node', 'exec', 'w-2', '--', 'echo free').stdout, 'free\n');
  const { body } = await world.call('POST', '/v1/tokens', { kind: 'api', name: 'op', role: 'operator' });
  assert.ok(body.secret, JSON.stringify(body));
  assert.equal((await world.call('POST', '/v1/clusters/demo/nodes/w-2/commands', { command: 'true' }, { token: body.secret })).status, 403);
  const began = Date.now();
  await world.stopHpd();
  assert.ok(Date.now() - began < 60000, 'hpd waited for the commands');
  await world.start();
  assert.equal((await world.call('GET', `/v1/node-commands/${(await ask('w-2', 'true')).body.id}`)).status, 200);
  assert.equal((await world.call('GET', '/v1/node-commands/nothing')).status, 404);
});

test('a command runs on the node, and its output and exit code come back', async () => {
  await tell(keyOf('host-ed25519'));
  for (const name of ['w-1', target]) {
    const ran = hpctl('node', 'ssh', name, '--', ...login, 'echo out; echo err >&2; exit 7');
    assert.deepEqual([ran.status, ran.stdout], [7, 'out\n'], ran.stderr);
    assert.match(ran.stderr, /^err$/m);
  }
});

test('plain ssh finds the nodes by the configuration, by name and by target', () => {
  const made = hpctl('node', 'ssh-config');
  assert.equal(made.status, 0, made.stderr);
  const file = join(world.dir, 'ssh_config');
  writeFileSync(file, made.stdout);
  for (const name of ['w-1', target]) {
    const env = { ...process.env, HPCTL_URL: `http://127.0.0.1:${world.port}`, HPCTL_TOKEN: world.token };
    const ran = spawnSync('ssh', ['-F', file, ...login, name, 'echo here'], { encoding: 'utf8', env, timeout: 60000 });
    assert.deepEqual([ran.status, ran.stdout], [0, 'here\n'], ran.stderr);
  }
});

test('another host key than the agent reports is refused, and so is an unknown one', async () => {
  await tell(keyOf('key'));
  const ran = hpctl('node', 'ssh', 'w-1', '--', ...login, 'echo out');
  assert.deepEqual([ran.status, ran.stdout], [255, '']);
  assert.match(ran.stderr, /Host key verification failed/);
  const { status, stderr } = hpctl('node', 'ssh', 'w-9', '--', 'true');
  assert.equal(status, 5, stderr);
});

test('a target stands for its node, and half a target is refused', () => {
  const found = hpctl('node', 'describe', target, '-o', 'json');
  assert.equal(JSON.parse(found.stdout).name, 'w-1');
  for (const bad of ['sagemaker-cluster:', 'sagemaker-cluster:abc_w', 'sagemaker-cluster:_w-i-0'])
    assert.match(hpctl('node', 'describe', bad).stderr, /a target is sagemaker-cluster:/);
  assert.match(hpctl('node', 'describe', `${target}0`).stderr, /has no instance/);
});
