// The whole arc over a provider of a site's executables: hpd runs the example for EC2, whose command line is a fake
// (tests/support/fake-clouds) that starts a real agent for each machine. What hpd sends is held to the schema.
import assert from 'node:assert/strict';
import { appendFileSync, chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { Clouds, examples } from '../lib/clouds.mjs';
import { Local } from '../lib/local.mjs';
import { agentPath } from '../lib/programs.mjs';
import { schema } from '../lib/provider_schema.mjs';
import { FELL_OFF, XID, until } from '../lib/world.mjs';

const SLOW = 240000;
const ACTIONS = ['launch', 'describe', 'reboot', 'terminate', 'events'];
const clouds = new Clouds();
const site = join(clouds.dir, 'site');
const record = join(clouds.dir, 'requests');
mkdirSync(site);
for (const action of ACTIONS) {
  const path = join(site, action);
  // what hpd sends is kept, and given to the example as it came
  writeFileSync(path, `#!/bin/sh\ninput=$(cat)\nprintf '%s\\n' "$input" >>${record}\nprintf '%s' "$input" | exec ${join(examples, 'aws-ec2', action)}\n`);
  chmodSync(path, 0o755);
}
const world = new Local({ config: { providers: { cloud: { kind: 'command', directory: site, timeout: '2m', environment: { ...clouds.environment, FAKE_AGENT: agentPath } } } } });

before(() => world.start());
after(async () => {
  await world.end();
  clouds.end();
});

const requests = () => (existsSync(record) ? readFileSync(record, 'utf8').trim().split('\n').map((line) => JSON.parse(line)) : []);
const machineOf = async (name) => {
  const { instanceId } = await world.node(name);
  return clouds.all().find((machine) => machine.tags['holdfast-instance'] === instanceId);
};
const kernel = async (name, line) => appendFileSync(join(clouds.machines, (await machineOf(name)).id, 'kmsg'), `${line}\n`);
const isReady = async (name) => {
  const node = await world.node(name);
  return node.state === 'ready' && node.health === 'healthy' && node;
};
const repaired = (kind) => until(`${kind} of w-1 has succeeded`, async () => (await world.repairs('w-1')).find((o) => o.kind === kind && o.state === 'succeeded'), SLOW);

test('machines come from the example, and are in service', async () => {
  await world.create(2, { instanceGroups: [{ name: 'w', instanceCount: 2, provider: 'cloud' }] });
  await world.ready(SLOW);
  assert.equal(clouds.all().length, 2);
  const node = await world.node('w-1');
  const machine = await machineOf('w-1');
  assert.equal(machine.tags.Name, 'w-1');
  assert.notEqual(node.instanceId, machine.id, 'the provider chose an id of its own');
});

test('a GPU that fell off: the machine is rebooted by the example', async () => {
  const first = await world.node('w-1');
  await kernel('w-1', FELL_OFF);
  await repaired('reboot');
  const node = await until('w-1 in service', () => isReady('w-1'), SLOW);
  assert.equal(node.instanceId, first.instanceId);
  assert.equal(clouds.calls('reboot-instances').length, 1);
});

test('a row that cannot be remapped: the machine is replaced by the example', async () => {
  const broken = await machineOf('w-1');
  await kernel('w-1', XID(64, 'Row Remapper: Failed to remap row'));
  await repaired('replace');
  await until('w-1 in service', () => isReady('w-1'), SLOW);
  const fresh = await machineOf('w-1');
  assert.notEqual(fresh.id, broken.id);
  assert.equal(clouds.machine(broken.id).state, 'terminated');
  assert.deepEqual(clouds.all().filter((machine) => machine.state === 'running').length, 2, 'nothing was launched twice');
  assert.equal(clouds.calls('reboot-instances').length, 1);
});

test('EC2 retires an instance next week: the machine is drained and replaced before', async () => {
  const old = await machineOf('w-2');
  const due = new Date(Date.now() + 7 * 86400000).toISOString();
  clouds.change(old.id, { status: { InstanceId: old.id, Events: [{ InstanceEventId: 'event-1', Code: 'instance-retirement', Description: 'The instance is running on degraded hardware', NotBefore: due }] } });
  await world.stopHpd('SIGKILL');
  await world.start(); // it is asked about at the start, and once a minute
  const repair = await until('w-2 is replaced', async () => (await world.repairs('w-2')).find((o) => o.kind === 'replace' && o.state === 'succeeded'), SLOW);
  assert.equal(repair.code, 'provider.retirement');
  await until('w-2 in service', () => isReady('w-2'), SLOW);
  assert.notEqual((await machineOf('w-2')).id, old.id);
  assert.equal(clouds.machine(old.id).state, 'terminated');
  assert.equal(clouds.calls('run-instances').length, 4, 'two at first, and one for each replacement');
});

test('each request of hpd fits the schema', () => {
  const sent = requests();
  for (const request of sent) schema.check(request.action === 'events' ? 'eventsRequest' : 'request', request);
  // describe is asked only where something waits for a machine
  for (const action of ['launch', 'reboot', 'terminate']) assert.ok(sent.some((request) => request.action === action), action);
  const known = Object.keys(schema.document.$defs.request.properties);
  for (const request of sent) assert.deepEqual(Object.keys(request).filter((name) => !known.includes(name)), [], 'the schema knows each member');
  const { timeoutSeconds, token, server } = sent.find((request) => request.action === 'launch');
  assert.equal(timeoutSeconds, 120);
  assert.ok(token && server);
});
