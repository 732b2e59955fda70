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
  for (const words of [['validate', file], ['apply', '-f', file]]) {
    const got = hpctl('policy', ...words);
    assert.notEqual(got.code, 0);
    assert.match(got.err, /line 4: recovery\.rebootMax is no setting/);
  }
  assert.equal((await world.get('/v1/policy')).version, 0);
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

test('history, an earlier text, and back', async () => {
  assert.match(hpctl('policy', 'history').out, /2 .*\n1 .*we look first/);
  assert.equal(hpctl('policy', 'export', '1').out, 'version: 1\nclasses:\n  gpu: {mode: observe}\n');
  assert.equal(hpctl('policy', 'rollback', '1', '--at-version', '1').code, 7);
  assert.match(hpctl('policy', 'rollback', '1').out, /version 3 /);
  assert.equal((await world.get('/v1/policy')).restores, 1);
  const audit = await world.get('/v1/audit?operation=policy.apply');
  assert.deepEqual(audit.items.filter((entry) => entry.outcome === 'succeeded').length, 2);
});

test('it is there after a restart', async () => {
  await world.stopHpd();
  await world.start();
  const { items, policyVersion } = await world.get('/v1/policies');
  assert.equal(policyVersion, 3);
  assert.ok(items.flatMap((policy) => policy.settings).some((setting) => setting.name === 'classes.gpu.mode' && setting.value === 'observe'));
});
