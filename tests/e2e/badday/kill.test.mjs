// hpd killed at random moments of repairs (from a seed), and agents killed in mid-report: every decision is carried out
// once, by the machines' own account, and the nodes come back.
import assert from 'node:assert/strict';
import { appendFileSync, existsSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { Local, random } from '../lib/local.mjs';
import { FELL_OFF, XID, until } from '../lib/world.mjs';

const SEED = Number(process.env.SEED ?? 1);
const ROUNDS = Number(process.env.ROUNDS ?? 10);

let world;
before(async () => {
  world = await new Local({ recovery: { rebootsMax: 100, replacesMax: 100, budgetPercent: 100 } }).start();
  await world.create(2);
  await world.ready();
});
after(() => world?.end());

test(`hpd killed in ${ROUNDS} repairs, seed ${SEED}`, { timeout: 900000 }, async () => {
  const next = random(SEED);
  for (let round = 0; round < ROUNDS; round++) {
    const name = `w-${(round % 2) + 1}`;
    const done = (await world.repairs(name)).filter((o) => o.state === 'succeeded').length;
    await world.kernel(name, FELL_OFF);
    for (let kill = 0, kills = 1 + Math.floor(next() * 3); kill < kills; kill++) {
      await sleep(next() * 600);
      await world.stopHpd('SIGKILL');
      if (next() < 0.3) await sleep(next() * 500); // the agent may have to wait
      await world.start();
    }
    await until(`round ${round}: ${name} repaired`, async () => {
      const repairs = await world.repairs(name);
      return repairs.filter((o) => o.state === 'succeeded').length > done && (await world.node(name)).state === 'ready';
    }).catch(async (error) => {
      throw new Error(`seed ${SEED}: ${error.message}\n${JSON.stringify([await world.node(name), await world.repairs(name)], null, 1)}\n${world.log.slice(-4000)}`);
    });
    const repairs = await world.repairs(name);
    assert.equal(repairs.length, done + 1, `round ${round}: one operation for one fault: ${JSON.stringify(repairs.map((o) => [o.kind, o.state]))}`);
  }
  const all = [...(await world.repairs('w-1')), ...(await world.repairs('w-2'))];
  assert.ok(all.every((o) => o.state === 'succeeded'));
  const count = (kind) => all.filter((o) => o.kind === kind).length;
  assert.equal(count('reboot') + count('replace'), ROUNDS);
  assert.ok(count('reboot') > 0 && count('replace') > 0, 'both kinds were tried');
  // By the machines' own files: one reboot for each request, one machine for each launch, and none left over.
  assert.equal(world.reboots().length, count('reboot'));
  assert.equal(new Set(world.reboots()).size, count('reboot'));
  assert.equal(world.directories().filter((id) => id.startsWith('i-')).length, 2 + count('replace'));
  assert.deepEqual(world.machines().sort(), [(await world.node('w-1')).instanceId, (await world.node('w-2')).instanceId].sort());
});

test('an agent killed in mid-report, with a torn spool: its verdicts come once, and none is lost', async () => {
  const { instanceId } = await world.node('w-1');
  const before = (await world.verdicts('w-1')).length;
  // hpd stands still: the report is on its way and unanswered.
  world.hpd.kill('SIGSTOP');
  const spool = join(world.instances, instanceId, 'agent/spool');
  const kmsg = join(world.instances, instanceId, 'kmsg');
  const pid = world.processOf(instanceId, 'hp-agent');
  appendFileSync(kmsg, XID(43, 'Ch 00000020, engmask 00000101') + '\n');
  await until('it is spooled', () => existsSync(spool) && world.file(instanceId, 'agent/spool').length > 0);
  process.kill(pid, 'SIGKILL');
  await until('it has ended', () => !existsSync(`/proc/${pid}`));
  appendFileSync(spool, Buffer.concat([Buffer.from('HFS1'), Buffer.alloc(37, 0xff)])); // a frame that was torn
  appendFileSync(kmsg, XID(13, 'Graphics SM Warp Exception on (GPC 0, TPC 0, SM 0)') + '\n');
  world.hpd.kill('SIGCONT');
  await until('both arrive', async () => {
    const codes = (await world.verdicts('w-1')).map((v) => v.code);
    return codes.includes('xid.43') && codes.includes('xid.13');
  });
  const again = await until('another agent speaks', () => world.processOf(instanceId, 'hp-agent'));
  assert.notEqual(again, pid);
  await until('nothing waits', () => world.file(instanceId, 'agent/spool') === '');
  const verdicts = await world.verdicts('w-1');
  assert.equal(verdicts.length, before + 2);
  for (const v of verdicts.filter((one) => ['xid.43', 'xid.13'].includes(one.code))) assert.deepEqual([v.count, v.state === 'stale'], [1, false]);
  assert.match(world.file(instanceId, 'log/hp-agent.log'), /no whole record/);
  await world.ready();
});

test('a flood of 672 lines is one incident, costs no reboot, and few rows', async () => {
  const name = 'w-2';
  const [rows, repairs, events] = [(await world.verdicts(name)).length, (await world.repairs(name)).length, (await world.events(undefined, name)).length];
  const boots = world.reboots().length;
  const of45 = async () => (await world.verdicts(name)).filter((v) => v.code === 'xid.45');
  for (let i = 1; i <= 8; i++) {
    await world.kernel(name, ...Array.from({ length: 84 }, (_, k) => XID(45, `Ch 000000${(k % 90) + 10}`)));
    await until('its lines are counted', async () => (await of45()).reduce((sum, v) => sum + v.count, 0) === i * 84);
  }
  assert.ok((await of45()).length <= 2, 'a window of a minute is a row'); // the flood may lie across its end
  assert.ok((await world.verdicts(name)).length <= rows + 2);
  assert.equal((await world.repairs(name)).length, repairs);
  assert.equal(world.reboots().length, boots);
  assert.ok((await world.events(undefined, name)).length <= events + 6, JSON.stringify((await world.events(undefined, name)).slice(0, 12)));
  assert.equal((await world.node(name)).state, 'ready');
});
