// What a group's agents do otherwise: said at the server, taken by real agents without a new start, kept by them, and a node's own
// file over it.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { after, test } from 'node:test';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Local } from './lib/local.mjs';
import { agentPath, agentService, hpctlPath } from './lib/programs.mjs';
import { until } from './lib/world.mjs';

const service = { ...agentService, command: [...agentService.command.filter((word) => !['--checks', 'none'].includes(word)), '--checks', 'disk,load', '--settings', '{dir}/agent.yaml'] };
const world = new Local({ service });
const GROUP = '/v1/clusters/demo/groups/w/agent-settings';
let env;

after(() => world.end());

function hpctl(...args) {
  const run = spawnSync(hpctlPath, args, { encoding: 'utf8', env });
  return { code: run.status, out: run.stdout, err: run.stderr };
}

const settingsOf = async (node) => (await world.node(node)).agentSettings ?? { settings: [] };
const words = (agent) => agent.settings.map((one) => `${one.name} ${one.value} ${one.source}`).sort();
const checksOf = async (node) => (await world.get(`/v1/clusters/demo/nodes/${node}/hardware`)).checks.map((check) => check.name).sort();
const agentLog = (id) => world.file(id, 'log/hp-agent.log') ?? '';

function apply(text, ...more) {
  const file = join(world.dir, 'settings.yaml');
  writeFileSync(file, text);
  return hpctl('agent-settings', 'apply', '-g', 'w', '-f', file, ...more);
}

test('a group without settings: all is as built in', async () => {
  await world.start();
  env = { ...process.env, HOME: world.dir, HPCTL_URL: `http://127.0.0.1:${world.port}`, HPCTL_TOKEN: readFileSync(join(world.state, 'admin.token'), 'utf8').trim() };
  await world.create(2);
  await world.ready();
  await until('its checks are known', async () => (await checksOf('w-1')).length === 3);
  assert.deepEqual(await checksOf('w-1'), ['disk', 'kmsg', 'load']);
  assert.equal((await world.node('w-1')).agentSettings, undefined);
  assert.match(hpctl('agent-settings', 'show', '-g', 'w').out, /Nothing is said of this group/);
  const list = hpctl('agent-settings', 'list').out;
  assert.match(list, /disk\.lowPercent +5 /);
  assert.match(list, /^dcgm\.deadline +55s /m);
  assert.match(list, /^services\.slurmd +true /m);
});

test('all agents of the group take what is said, without a new start', async () => {
  const wrong = apply('load.enabled: false\ndisk.lowPercent: 99\n');
  assert.equal(wrong.code, 2);
  assert.match(wrong.err, /line 2: disk\.lowPercent must be a whole number from 1 to 50/);
  const made = apply('# jobs load these nodes\nload.enabled: false\ndisk.period: 5s\n', '--reason', 'jobs load them');
  assert.match(made.out, /revision 1 counts/);
  assert.match(hpctl('event', 'list').out, /agent-settings .*gave settings to the agents of group w \(revision 1\): jobs load them/);
  for (const node of ['w-1', 'w-2']) {
    await until(`${node} goes by it`, async () => (await settingsOf(node)).revision === 1);
    assert.deepEqual(words(await settingsOf(node)), ['disk.period 5s group', 'load.enabled false group']);
    await until(`${node} has no check of the load`, async () => !(await checksOf(node)).includes('load'));
  }
  assert.match(hpctl('agent-settings', 'show', '-g', 'w').out, /# revision 1, by token:admin.*\n# jobs load these nodes\n/);
  const described = hpctl('node', 'describe', 'w-1').out;
  assert.match(described, /Agent settings\nRevision in force +1\nRevision of the group +1\n/);
  assert.match(described, /load\.enabled +false +group/);
  const audit = await world.list('/v1/audit');
  assert.ok(audit.some((row) => row.operation === 'agent-settings.apply' && row.outcome === 'succeeded'), JSON.stringify(audit.slice(0, 3)));
  assert.equal(apply('load.enabled: true\n', '--at-version', '7').code, 7);
});

test("a node's own file counts over it, and a wrong one changes nothing", async () => {
  const { instanceId } = await world.node('w-2');
  const state = join(world.instances, instanceId, 'agent'), file = join(world.instances, instanceId, 'agent.yaml');
  writeFileSync(file, 'load.enabled: true\nmemory.pressurePercent: 50\n');
  await until('the file counts', async () => words(await settingsOf('w-2')).includes('load.enabled true file'), 60000);
  assert.deepEqual(words(await settingsOf('w-2')), ['disk.period 5s group', 'load.enabled true file', 'memory.enabled false command-line', 'memory.pressurePercent 50 file']);
  await until('the check is back', async () => (await checksOf('w-2')).includes('load'));
  assert.deepEqual(words(await settingsOf('w-1')), ['disk.period 5s group', 'load.enabled false group']);
  writeFileSync(file, 'load.enabled: perhaps\n');
  await until('the file is refused', async () => (await settingsOf('w-2')).fileRefused, 60000);
  assert.equal((await settingsOf('w-2')).fileRefused, 'line 1: load.enabled must be true or false');
  assert.ok(words(await settingsOf('w-2')).includes('load.enabled true file'), 'what was there before goes on counting');
  await until('the timeline says so', async () => (await world.events('agent-settings', 'w-2')).some((event) => /refuses the node's own settings.*line 1: load\.enabled/.test(event.message)));
  const byHand = spawnSync(agentPath, ['settings', '--state-dir', state, '--settings', file], { encoding: 'utf8' });
  assert.equal(byHand.status, 1);
  assert.match(byHand.stderr, /line 1: load\.enabled must be true or false/);
  assert.match(byHand.stdout, /^disk\.period +5s +group, revision 1$/m);
  assert.match(byHand.stdout, /^disk\.lowPercent +5 +built-in$/m);
  assert.match(byHand.stdout, /^disk\.deadline +20s +built-in$/m);
});

test('it is kept for a start without a server, and an hpd that starts anew knows it', async () => {
  const { instanceId } = await world.node('w-1');
  await world.stopHpd();
  const agent = world.processOf(instanceId, 'hp-agent');
  const before = agentLog(instanceId).split('hp-agent ends').length;
  process.kill(agent, 'SIGTERM'); // its machine starts it again
  await until('it has ended', () => agentLog(instanceId).split('hp-agent ends').length > before);
  await until('it runs again', () => (world.processOf(instanceId, 'hp-agent') ?? agent) !== agent, 60000);
  assert.match(world.file(instanceId, 'agent/settings'), new RegExp(`^${instanceId} 1\\n# jobs load these nodes\\n`));
  await world.start();
  await until('it goes by the same', async () => (await settingsOf('w-1')).revision === 1);
  await until('it has no check of the load', async () => !(await checksOf('w-1')).includes('load'));
  const wiped = apply('# nothing\n');
  assert.equal(wiped.code, 2);
  assert.match(wiped.err, /add --yes/);
  assert.match(apply('', '--yes').out, /revision 2 counts/);
  await until('nothing is said any more', async () => (await settingsOf('w-1')).revision === 2);
  assert.deepEqual((await settingsOf('w-1')).settings, []);
  await until('the check is back', async () => (await checksOf('w-1')).includes('load'));
  assert.equal((await world.call('PUT', GROUP, { document: 'x' })).status, 400);
});
