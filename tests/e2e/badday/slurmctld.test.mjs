// The real slurmctld stands still (SIGSTOP) in the middle of a repair: hpd says so within its deadline, stays awake for
// people and agents, and ends the repair once and well when slurmctld moves again.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { FELL_OFF, World, until } from '../lib/world.mjs';

let world, slurmctld;
before(async () => {
  world = await new World({ recovery: { breakerMin: 100 } }).start();
  slurmctld = Number(readFileSync(join(world.slurm, 'run/slurmctld.pid'), 'utf8').split(' ')[0]);
});
after(async () => {
  if (slurmctld) process.kill(slurmctld, 'SIGCONT');
  await world?.end();
});

test('slurmctld stands still in mid-repair', { timeout: 180000 }, async () => {
  const boots = world.events({ node: 'gpu-2', kind: 'agent-booted' }).length;
  world.kernel('gpu-2', FELL_OFF);
  await until('a repair', () => world.operations('gpu-2').some((o) => ['pending', 'running'].includes(o.state)));
  process.kill(slurmctld, 'SIGSTOP');
  await until('hpd says so', () => world.events({ kind: 'scheduler-down' }).length > 0);
  assert.equal(world.json('node', 'list').length, 4, 'people are answered while it stands still');
  // Evidence is still heard; nobody else is touched meanwhile.
  world.kernel('gpu-3', FELL_OFF);
  await until('the verdict', () => world.json('node', 'verdicts', 'gpu-3').some((v) => v.code === 'xid.79'));
  for (const name of ['gpu-1', 'gpu-4']) assert.equal(world.node(name).state, 'ready');
  process.kill(slurmctld, 'SIGCONT');
  for (const name of ['gpu-2', 'gpu-3']) {
    await world.repaired(name, 'reboot');
    assert.equal(world.operations(name).filter((o) => o.kind !== 'launch').length, 1);
  }
  assert.equal(world.events({ node: 'gpu-2', kind: 'agent-booted' }).length, boots + 1);
  assert.ok(world.events({ kind: 'scheduler-back' }).length > 0);
  await until('four idle nodes', () => world.states().filter((s) => s === 'idle').length === 4);
});
