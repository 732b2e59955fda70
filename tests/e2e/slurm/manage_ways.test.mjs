// A managed Slurm that is not reached by local commands: what is written and run goes over SSH, with slurmrestd, too, which writes no
// configuration. A change comes into force, and one that Slurm refuses is taken back.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { until } from '../lib/world.mjs';
import { Managed, WAIT_MS, group } from './managed.mjs';
import { MANAGED_WAYS, inEachWay } from './ways.mjs';

inEachWay(MANAGED_WAYS, (way) => {
  let world;
  before(async () => {
    world = await new Managed({ cluster: false, way, manage: () => ({ hardware: { 'ml.bad': 'State=BOGUS' } }) }).start();
  });
  after(() => world?.end());

  test('a group becomes nodes and a partition, and another comes', async () => {
    await world.make([group('a', 1, 'train')]);
    await until('both partitions', () => world.partitions().dev === 'a-1' && world.partitions().train === 'a-1', WAIT_MS);
    // Another number: nodes on one machine have their ports by it.
    await world.apply([group('a', 1, 'train'), group('b', 1, 'test', { nodeNames: 'b-2' })]);
    await until('the new one', () => world.partitions().dev === 'a-1,b-2' && world.partitions().test === 'b-2', WAIT_MS);
    await world.inService(2);
    await until('a job runs there', () => /./.test(world.slurmRun('srun', '-p', 'test', 'hostname')));
  });

  test('what Slurm refuses is taken back, and the old configuration holds', async () => {
    const before = world.read(), partitions = world.partitions();
    await world.apply([group('a', 1, 'train'), group('b', 1, 'test', { nodeNames: 'b-2' }), group('c', 1, 'bad', { nodeNames: 'c-3', instanceType: 'ml.bad' })]);
    await until('it was told', () => world.events({ kind: 'scheduler-configuration' }).some((e) => /Slurm refused the new configuration .*has the old one again/.test(e.message)), WAIT_MS);
    assert.equal(world.read(), before);
    await until('slurmctld answers', () => JSON.stringify(world.partitions()) === JSON.stringify(partitions));
  });
});
