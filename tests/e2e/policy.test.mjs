// The policy document: applied while hpd runs, it changes the next decision; it is there after a restart, and one that somebody
// broke by hand leaves the last good one in force.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { Local } from './lib/local.mjs';
import { hpctlPath } from './lib/programs.mjs';
import { FELL_OFF, until } from './lib/world.mjs';

const group = 'w'; // of Local
const dir = mkdtempSync(join(tmpdir(), 'holdfast-policy.'));
const file = join(dir, 'policy.yaml');
const world = new Local();

const decision = async (node) => (await world.get(`/v1/clusters/demo/nodes/${node}/explanation`)).decision;
const hpctl = (...words) => {
  const env = { ...process.env, HPCTL_URL: `http://127.0.0.1:${world.port}`, HPCTL_TOKEN: world.token, HPCTL_CONFIG: config };
  const run = spawnSync(hpctlPath, words, { encoding: 'utf8', env });
  return { code: run.status, out: run.stdout, err: run.stderr };
};
const config = join(dir, 'hpctl.yaml');
writeFileSync(config, '{}\n');
const apply = (text, ...more) => {
  writeFileSync(file, text);
  return hpctl('policy', 'apply', '-f', file, ...more);
};

before(async () => {
  await world.start();
  await world.create(3);
  await world.ready();
});
after(async () => {
  await world.end();
  rmSync(dir, { recursive: true, force: true });
});

test('hpctl says which line is wrong, and nothing changes', async () => {
  writeFileSync(file, 'version: 1\ndefaults:\n  recovery:\n    rebootMax: 3\n');
  for (const words of [['validate', file], ['validate', '-f', file], ['apply', '-f', file]]) {
    const got = hpctl('policy', ...words);
    assert.notEqual(got.code, 0);
    assert.match(got.err, /line 4: recovery\.rebootMax is no setting/);
  }
  assert.equal((await world.get('/v1/policy')).version, 0);
});

test('it warns of what can never begin, and of groups that are not there', async () => {
  const entry = (name) => `  - {match: {cluster: demo, group: ${name}}, recovery: {minHealthyPercent: 100}}\n`;
  writeFileSync(file, `version: 1\ndefaults: {recovery: {notDuring: Mon-Sun}}\ngroups:\n${entry('none')}${entry(group)}`);
  const { code, out, err } = hpctl('policy', 'validate', file);
  assert.equal(code, 0, err);
  assert.match(out, /would be taken/);
  assert.match(err, /warning: no repair ever begins by itself in any group that no entry of groups is for: notDuring/);
  assert.match(err, new RegExp(`warning: no repair ever begins by itself in the group ${group} of demo: minHealthyPercent 100`));
  assert.match(err, /warning: entry 1 of groups is for no group that there is now/);
  assert.equal(JSON.parse(hpctl('policy', 'validate', file, '-o', 'json').out).warnings.length, 3);
  writeFileSync(file, `version: 1\ndefaults: {recovery: {notDuring: Mon-Sat, minHealthyPercent: 99}}\ngroups:\n${entry(`${group}*`).replace('100', '50')}`);
  assert.deepEqual(JSON.parse(hpctl('policy', 'validate', file, '-o', 'json').out), { valid: true });
});

test('what is observed is not done, and the decision says by which version', async () => {
  assert.match(apply('version: 1\nclasses:\n  gpu: {mode: observe}\n', '--reason', 'we look first').out, /version 1 /);
  assert.match(hpctl('policy', 'show').out, /classes\.gpu\.mode\s+observe\s+act\s+policy-document/);
  await world.kernel('w-1', FELL_OFF);
  await until('the decision', async () => (await decision('w-1'))?.rule === 'mode-observe');
  const { policyVersion, action, refused } = await decision('w-1');
  assert.deepEqual([policyVersion, action, refused], [1, 'watch', 'reboot']);
  assert.deepEqual(await world.repairs('w-1'), []);
  assert.equal((await world.node('w-1')).state, 'ready');
});

test('another document decides anew about what is not well', async () => {
  assert.match(apply('version: 1\n# we have looked\n').out, /version 2 /);
  await until('the repair', async () => (await world.repairs('w-1')).some((o) => o.kind === 'reboot'));
  assert.equal((await decision('w-1')).policyVersion, 2);
});

test('another document is tried on what was decided', async () => {
  writeFileSync(file, 'version: 1\nclasses:\n  gpu: {mode: approve}\n');
  const diff = JSON.parse(hpctl('policy', 'diff', '-f', file, '--cluster', 'demo', '-o', 'json').out);
  const w1 = diff.items.filter((item) => item.node === 'w-1').map(({ then, other }) => [then.rule, other.rule]);
  assert.deepEqual(w1.at(-1), ['mode-observe', 'approval-needed'], JSON.stringify(diff));
  assert.ok(w1.some(([then, other]) => then === 'table-reboot' && other === 'approval-needed'));
  assert.equal(diff.decisions, diff.same + diff.different + diff.unknown);
  const shown = hpctl('policy', 'diff', '-f', file, '--cluster', 'demo', '--since', '1h').out;
  assert.match(shown, /w-1 .*xid\.79 .*reboot +table-reboot +hold +approval-needed/);
  assert.match(shown, /cannot be known/);
  assert.match(hpctl('policy', 'diff', '-f', file, '--cluster', 'demo', '--since', 'once').err, /--since is a time/);
  const { version } = await world.get('/v1/policy');
  assert.equal(version, 2, 'nothing is changed');
});

test('history, an earlier text, and back', async () => {
  assert.match(hpctl('policy', 'history').out, /2 .*\n1 .*we look first/);
  assert.equal(hpctl('policy', 'export', '1').out, 'version: 1\nclasses:\n  gpu: {mode: observe}\n');
  assert.equal(hpctl('policy', 'rollback', '1', '--at-version', '1').code, 7);
  assert.match(hpctl('policy', 'rollback', '1').out, /version 3 /);
  assert.equal((await world.get('/v1/policy')).restores, 1);
  const audit = await world.get('/v1/audit?operation=policy.apply');
  assert.deepEqual(audit.items.filter((entry) => entry.outcome === 'succeeded').map((entry) => entry.resource), ['2', '1']);
  assert.match(hpctl('event', 'list').out, /policy +version 3 of the policy is in force, which restores version 1/);
});

const waiting = () => JSON.parse(hpctl('operation', 'approvals', '--state', 'asked', '-o', 'json').out);

test('a repair waits for an approval, also over a restart, and then has the id that was approved', async () => {
  apply('version: 1\nclasses:\n  gpu: {mode: approve}\n');
  await world.kernel('w-2', FELL_OFF);
  await until('the question', () => waiting().length === 1);
  const [{ id, node, action }] = waiting();
  assert.deepEqual([node, action], ['w-2', 'reboot']);
  await until('out of scheduling', async () => (await world.node('w-2')).state === 'held');
  assert.deepEqual(await world.repairs('w-2'), []);
  await world.stopHpd('SIGKILL');
  await world.start();
  assert.match(hpctl('operation', 'approve', id).out, /reboot of w-2: approved/);
  await until('the repair', async () => (await world.repairs('w-2')).some((o) => o.id === id));
  assert.equal(hpctl('operation', 'reject', id).code, 7, 'it was answered');
});

test('after a no the node stays held, and is not asked about again', async () => {
  await world.kernel('w-3', FELL_OFF);
  await until('the question', () => waiting().length === 1);
  const [{ id }] = waiting();
  assert.match(hpctl('operation', 'describe', id).err, /no such operation yet: a reboot waits for approval until/);
  assert.match(hpctl('operation', 'cancel', id).err, /hpctl operation reject /);
  assert.match(hpctl('operation', 'reject', id, '--reason', 'the run ends at noon').out, /rejected/);
  await until('the decision', async () => (await decision('w-3')).rule === 'approval-rejected');
  assert.match(hpctl('node', 'explain', 'w-3').out, /rejected the reboot at .* \(the run ends at noon\)/);
  assert.match(hpctl('operation', 'describe', id).err, /and was rejected by /);
  assert.deepEqual([(await world.node('w-3')).state, waiting(), await world.repairs('w-3')], ['held', [], []]);
  apply('version: 1\nclasses:\n  gpu: {mode: observe}\n');
});

test('who says yes is told what still holds the repair', async () => {
  apply('version: 1\ndefaults:\n  recovery: {notDuring: Mon-Sun}\nclasses:\n  gpu: {mode: approve}\n');
  hpctl('node', 'release', 'w-3');
  await until('back in service', async () => (await world.node('w-3')).state === 'ready');
  await world.kernel('w-3', FELL_OFF);
  await until('the question', () => waiting().length === 1);
  const [{ id }] = waiting();
  let said = '';
  await until('what holds it', () => /^It waits/m.test((said = hpctl('operation', 'approve', id).out))); // on a slow machine said again
  assert.match(said, /reboot of w-3: approved\nIt waits: repairs of the group begin not during Mon-Sun/);
  const [approval] = (await world.get('/v1/approvals?state=approved')).items;
  assert.deepEqual([approval.id, approval.waitsFor.slice(0, 16)], [id, 'repairs of the g']);
  assert.deepEqual(await world.repairs('w-3'), []);
  apply('version: 1\nclasses:\n  gpu: {mode: observe}\n');
});

test('it is there after a restart', async () => {
  await world.stopHpd();
  await world.start();
  const { items, policyVersion } = await world.get('/v1/policies');
  assert.equal(policyVersion, 7);
  assert.ok(items.flatMap((policy) => policy.settings).some((setting) => setting.name === 'classes.gpu.mode' && setting.value === 'observe'));
});

test('a paused cluster is left alone until it is resumed, also over a restart', async () => {
  apply('version: 1\n');
  await until('all is well', async () => (await world.list('/v1/clusters/demo/nodes')).every((n) => n.state === 'ready' && n.health === 'healthy'));
  const before = (await world.repairs('w-2')).length;
  assert.match(hpctl('cluster', 'pause', '--reason', 'the fabric is recabled').out, /^demo: paused; nothing new is done/);
  assert.match(hpctl('cluster', 'list').out, /^demo +\S+ +paused /m);
  assert.match(hpctl('cluster', 'describe').out, / · paused by admin: the fabric is recabled\n[^]*hpctl cluster resume demo$/m);
  await world.kernel('w-2', FELL_OFF.replace('b9', '4e'));
  await until('it is seen, and left', async () => (await decision('w-2'))?.rule === 'paused');
  assert.equal((await world.stopHpd()), 0);
  await world.start();
  const { explanation, text } = await until('it is left alone still', async () => {
    const said = await world.get('/v1/clusters/demo/nodes/w-2/explanation');
    return said.explanation === 'paused' && said;
  });
  assert.match(text, /token:admin paused the whole cluster at .*: the fabric is recabled, so nothing is done to any of its nodes by itself\./);
  assert.match(text, /hpctl cluster resume demo/, explanation);
  const node = await world.node('w-2');
  assert.deepEqual([node.state, node.health], ['ready', 'unhealthy']);
  assert.equal((await world.repairs('w-2')).length, before);
  assert.equal((await world.get('/v1/clusters/demo')).pause.by, 'token:admin');
  assert.match(hpctl('cluster', 'resume').out, /decided on now/);
  await until('it is repaired', async () => (await world.repairs('w-2')).length > before);
  assert.equal((await world.get('/v1/clusters/demo')).pause, undefined);
  assert.deepEqual((await world.list('/v1/events?cluster=demo')).map((e) => e.kind).filter((k) => /^cluster-(paused|resumed)/.test(k)), ['cluster-resumed', 'cluster-paused']);
});
