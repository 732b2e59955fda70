// A site's own rows before the fault tables: refused at the start when they are wrong, read again on SIGHUP, and a file that
// became wrong leaves those in use.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Local } from './lib/local.mjs';
import { FELL_OFF, until } from './lib/world.mjs';

const dir = mkdtempSync(join(tmpdir(), 'holdfast-faults.'));
const file = join(dir, 'faults.yaml');
const world = new Local({ config: { faultTables: file } });
const GENTLE = 'overrides:\n  - code: xid.79\n    action: watch\n    why: our risers are loose, and we know it\n';

after(async () => {
  await world.end();
  rmSync(dir, { recursive: true, force: true });
});

const explained = async () => (await world.get('/v1/clusters/demo/nodes/w-1/explanation')).text;

test('a wrong file ends the start, with line and reason', async () => {
  writeFileSync(file, `${GENTLE}  - code: xid.79\n    action: reboot\n    why: x\n`);
  const hpd = world.spawnHpd();
  assert.equal(await new Promise((done) => hpd.once('close', done)), 1);
  assert.match(hpd.text, /faults\.yaml: line 5: override 2: xid\.79 is there twice/);
});

test("the site's word counts, and its decisions say so", async () => {
  writeFileSync(file, GENTLE);
  await world.start();
  assert.match(world.log, /1 rows of \S+faults\.yaml stand before the fault tables/);
  await world.create(1);
  await world.ready();
  await world.kernel('w-1', FELL_OFF);
  await until('the decision', async () => /our risers are loose/.test(await explained()));
  assert.match(await explained(), /Decided by fault table \S+\+[0-9a-f]{6};/);
  assert.deepEqual(await world.repairs('w-1'), []);
  assert.equal((await world.node('w-1')).state, 'ready');
});

test('a file that became wrong leaves the rows in use, a right one takes their place', async () => {
  writeFileSync(file, 'overrides:\n  - code: nobody.knows\n    action: watch\n    why: x\n');
  world.hpd.kill('SIGHUP');
  await until('it is refused', () => /line 2: override 1: nobody\.knows is in no table[^]*tables in use stay in use/.test(world.log));
  await world.kernel('w-1', FELL_OFF.replace('b9:00', '3b:00'));
  await until('the second device', async () => (await world.verdicts('w-1')).some((v) => v.device === '0000:3b:00'));
  assert.deepEqual(await world.repairs('w-1'), []);

  writeFileSync(file, '# nothing is said otherwise any more\n');
  world.hpd.kill('SIGHUP');
  await until('it is read', () => /0 rows of \S+faults\.yaml/.test(world.log));
  await world.kernel('w-1', FELL_OFF.replace('b9:00', '5d:00'));
  await until('the repair', async () => (await world.repairs('w-1')).some((o) => o.kind === 'reboot'));
});

test('a code of no table is a question to a person, which a row of the site answers', async () => {
  await until('all is well', async () => (await world.node('w-1')).state === 'ready' && (await world.node('w-1')).health === 'healthy');
  const repairs = (await world.repairs('w-1')).length;
  await world.kernel('w-1', FELL_OFF.replace('b9:00', '6e:00').replace(': 79,', ': 999,'));
  await until('a person is told', async () => /^for a person: xid\.999 on 0000:6e:00 is in no table/.test((await world.node('w-1')).reason ?? ''));
  const told = (await world.events('decision', 'w-1')).find((e) => e.message.includes('unknown-code'));
  assert.equal(told.level, 'warn');
  assert.match(told.message, /nothing else follows until a row of faultTables says what it asks for \(code: xid\.999, action, and why\)/);
  assert.equal((await world.get('/v1/clusters/demo')).attention[0].name, 'w-1');
  writeFileSync(file, 'overrides:\n  - code: xid.999\n    action: reboot\n    why: our driver of next year says so\n');
  world.hpd.kill('SIGHUP');
  await until('it is read', () => /1 rows of \S+faults\.yaml[^]*1 rows of \S+faults\.yaml/.test(world.log));
  await until('the repair, for what was seen before', async () => (await world.repairs('w-1')).length > repairs);
  assert.match(await explained(), /our driver of next year says so|reboot/);
});
