// Instances of EC2, as moto has it, with a real agent on each: a fault leads to another instance, and nothing is launched twice though
// hpd is killed while it replaces one.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { after, before, test } from 'node:test';
import { Local, random } from '../lib/local.mjs';
import { Moto } from '../lib/moto.mjs';
import { hpctlPath } from '../lib/programs.mjs';
import { XID, until } from '../lib/world.mjs';

const SLOW = 240000;
const KILLS = 5;
const ROW = XID(64, 'Row Remapper: Failed to remap row');
const moto = new Moto();
let world;
let cannot;

before(async () => {
  cannot = moto.start();
  if (cannot) return;
  const subnets = await moto.ask('DescribeSubnets');
  const [, subnet] = /<subnetId>([^<]+)</.exec(subnets);
  const [, zone] = /<availabilityZone>([^<]+)</.exec(subnets);
  world = new Local({
    config: {
      providers: {
        cloud: { kind: 'ec2', region: 'us-west-2', endpoint: await moto.frontUrl(), credentialsFile: moto.keys, image: 'ami-12c6146b', subnets: { [subnet]: zone }, tags: { team: 'training' } },
      },
    },
  });
  await world.start();
});
after(async () => {
  if (world) await world.end();
  await moto.end();
});

const machineOf = async (name) => {
  const { instanceId } = await world.node(name);
  return (await moto.instances()).find((instance) => instance.tags['holdfast-instance'] === instanceId);
};
const isReady = async (name) => {
  const node = await world.node(name);
  return node.state === 'ready' && node.health === 'healthy' && node;
};
const replaced = (name, count) => until(`${count} replacement of ${name}`, async () => (await world.repairs(name)).filter((o) => o.kind === 'replace' && o.state === 'succeeded').length === count, SLOW);

test('instances are launched with their tags, and are in service', async (t) => {
  if (cannot) return void t.skip(cannot);
  await world.create(2, { instanceGroups: [{ name: 'w', instanceCount: 2, provider: 'cloud', instanceType: 'ml.p5.48xlarge' }] });
  await world.ready(SLOW);
  const instances = await moto.instances();
  assert.equal(instances.length, 2);
  const { id, type, tags } = await machineOf('w-1');
  assert.equal(type, 'p5.48xlarge');
  assert.deepEqual([tags.Name, tags['holdfast-provider'], tags['holdfast-cluster'], tags['holdfast-group'], tags.team], ['w-1', 'cloud', 'demo', 'w', 'training']);
  assert.notEqual((await world.node('w-1')).instanceId, id, 'EC2 chose an id of its own');
});

test('the contract of a provider holds, with the life of an instance', async (t) => {
  if (cannot) return void t.skip(cannot);
  const env = { ...process.env, HPCTL_URL: `http://127.0.0.1:${world.port}`, HPCTL_TOKEN: world.token };
  const hpctl = (...args) => promisify(execFile)(hpctlPath, args, { env, timeout: SLOW });
  const { stdout } = await hpctl('provider', 'test', 'cloud', '--launch');
  assert.match(stdout, /list has the machine/);
  assert.match(stdout, /what is planned for machines is said/);
  assert.match(stdout, /describe finds the machine by hpd's id alone/);
  assert.doesNotMatch(stdout, /FAIL|failed/i);
  const tested = (await moto.instances()).filter((instance) => instance.tags['holdfast-node'] === 'provider-test');
  assert.deepEqual(tested.map((instance) => instance.state), ['terminated']);
});

test('a fault: the instance is replaced, and the new one joins', async (t) => {
  if (cannot) return void t.skip(cannot);
  const broken = await machineOf('w-1');
  moto.kernel(broken.id, ROW);
  await replaced('w-1', 1);
  await until('w-1 in service', () => isReady('w-1'), SLOW);
  const fresh = await machineOf('w-1');
  const instances = await moto.instances();
  assert.notEqual(fresh.id, broken.id);
  assert.equal(instances.find((instance) => instance.id === broken.id).state, 'terminated');
  assert.equal(instances.length, 4, 'one more was launched');
  assert.equal((await moto.running()).length, 2);
});

test('EC2 retires an instance next week: it is drained and replaced before', async (t) => {
  if (cannot) return void t.skip(cannot);
  const old = await machineOf('w-2');
  moto.plan(old.id, 'instance-retirement', new Date(Date.now() + 7 * 86400000));
  await world.stopHpd('SIGKILL');
  await world.start(); // EC2 is asked at the start, and once a minute
  await replaced('w-2', 1);
  assert.equal((await world.repairs('w-2')).find((o) => o.kind === 'replace').code, 'provider.retirement');
  await until('w-2 in service', () => isReady('w-2'), SLOW);
  const instances = await moto.instances();
  assert.equal(instances.find((instance) => instance.id === old.id).state, 'terminated');
  assert.equal(instances.length, 5, 'one more was launched');
});

test('hpd is killed while it replaces an instance: one is launched, one is ended', async (t) => {
  if (cannot) return void t.skip(cannot);
  const chance = random(18);
  const broken = await machineOf('w-2');
  const other = await machineOf('w-1');
  moto.kernel(broken.id, ROW);
  await until('the repair has begun', async () => (await world.repairs('w-2')).length > 1, SLOW);
  for (let kill = 0; kill < KILLS; kill++) {
    await new Promise((done) => setTimeout(done, chance() * 400)); // at any point: no proof hangs on it
    await world.stopHpd('SIGKILL');
    await world.start();
  }
  await replaced('w-2', 2);
  await until('w-2 in service', () => isReady('w-2'), SLOW);
  const instances = await moto.instances();
  assert.equal(instances.length, 6, 'one more was launched');
  assert.deepEqual((await moto.running()).map((instance) => instance.id).sort(), [other.id, (await machineOf('w-2')).id].sort());
});
