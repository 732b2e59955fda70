// hpctl node ssh and ssh-config: OpenSSH's own ssh and a real sshd. The machine that has the key which its agent reports is let in to, and no other.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { Local, Speaker } from './lib/local.mjs';
import { hpctlPath, root } from './lib/programs.mjs';
import { until } from './lib/world.mjs';

const lab = (verb) => spawnSync(join(root, 'tests/support/sshd-lab'), [verb, dir()], { encoding: 'utf8' });
const dir = () => join(world.dir, 'sshd');
let world, speaker, login, target;

const hpctl = (...words) => spawnSync(hpctlPath, words, { encoding: 'utf8', env: { ...process.env, HPCTL_URL: `http://127.0.0.1:${world.port}`, HPCTL_TOKEN: world.token }, timeout: 60000 });

// What an agent says of its machine: its host key is the sshd's, or another.
async function tell(key) {
  const { status, body } = await world.call('POST', '/v1/agent/machine', { instanceId: speaker.instanceId, bootId: speaker.bootId, sentAtMs: Date.now(), hardwareKnown: true, checks: [],
    hardware: [{ kind: 'host-key', location: 'ssh-ed25519', detail: key }] }, { token: speaker.credential });
  assert.equal(status, 200, JSON.stringify(body));
}
const keyOf = (name) => readFileSync(join(dir(), `${name}.pub`), 'utf8').split(' ')[1].trim();

before(async () => {
  world = new Local({ speakers: true });
  await world.start();
  const run = lab('start');
  assert.equal(run.status, 0, run.stderr);
  await world.create(1);
  speaker = await new Speaker(world, 'w-1').enroll();
  await until('hpd knows its address', async () => {
    await speaker.beat({ address: '127.0.0.1' });
    return (await world.node('w-1')).address === '127.0.0.1';
  }, 60000);
  login = ['-p', readFileSync(join(dir(), 'port'), 'utf8').trim(), '-i', join(dir(), 'key'), '-l', userInfo().username];
  const { id } = await world.get('/v1/clusters/demo');
  target = `sagemaker-cluster:${id}_w-${speaker.instanceId}`;
});

after(async () => {
  if (!world) return;
  lab('stop');
  await world.end();
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
