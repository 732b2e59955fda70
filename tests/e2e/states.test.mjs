// A state that begins, lasts and is over: a site's own check on a real agent, told to a real hpd, which counts it for as long
// as it is so and no longer.
import assert from 'node:assert/strict';
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { Local } from './lib/local.mjs';
import { agentService } from './lib/programs.mjs';
import { until } from './lib/world.mjs';

const PATIENCE = 120000;
const dir = mkdtempSync(join(tmpdir(), 'holdfast-states.')), own = join(dir, 'checks.d');
const says = (code) => writeFileSync(join(dir, 'code'), `${code}\n`);
let world;

before(async () => {
  mkdirSync(own, { mode: 0o755 });
  writeFileSync(join(own, 'rack'), `#!/bin/sh\n# holdfast: period=10s\necho the API is open\nexit $(cat ${dir}/code)\n`);
  chmodSync(join(own, 'rack'), 0o755);
  says(0);
  const service = { ...agentService, command: [...agentService.command, '--checks', 'rack', '--checks-dir', own] };
  world = await new Local({ service }).start();
  await world.create(1);
  await world.ready();
});
after(async () => {
  await world?.end();
  rmSync(dir, { recursive: true, force: true });
});

const verdicts = async (code, state) => (await world.verdicts('w-1')).filter((v) => v.code === code && v.state === state && v.severity !== 'ok');
const overs = async () => (await world.events('verdict', 'w-1')).filter((e) => /\(over\).*over after/.test(e.message));

test('a warning colours the node for as long as it lasts', async () => {
  says(1);
  await until('the node is degraded', async () => (await world.node('w-1')).health === 'degraded', PATIENCE);
  const [verdict] = await verdicts('custom.warning', 'open');
  assert.equal(verdict.device, 'rack');
  assert.match(verdict.rawLine, /the API is open/);
  assert.equal((await world.node('w-1')).state, 'ready');
  says(0);
  await until('the node is healthy', async () => (await world.node('w-1')).health === 'healthy', PATIENCE);
  assert.equal((await verdicts('custom.warning', 'open')).length, 0);
  assert.equal((await verdicts('custom.warning', 'resolved')).length, 1, 'one verdict, however many runs saw it');
  assert.equal((await overs()).length, 1);
});

test('what takes the node out of scheduling is taken back when it is over', async () => {
  says(2);
  await until('the node is held', async () => (await world.node('w-1')).state === 'held', PATIENCE);
  assert.equal((await verdicts('custom.critical', 'open')).length, 1);
  says(0);
  await until('the verdict is taken back', async () => (await verdicts('custom.critical', 'open')).length === 0, PATIENCE);
  await until('the node is back', async () => {
    const { state, health } = await world.node('w-1');
    return state === 'ready' && health === 'healthy';
  }, PATIENCE);
  assert.deepEqual(await world.repairs('w-1'), []);
});
