// A managed Slurm whose slurmctld is on another machine: all that is written and run goes over SSH.
import { after, before, test } from 'node:test';
import { until } from '../lib/world.mjs';
import { Managed, WAIT_MS, group } from './managed.mjs';

let world;
before(async () => {
  world = await new Managed({ cluster: false, way: 'ssh' }).start();
});
after(() => world?.end());

test('over SSH a group becomes nodes and a partition, and another comes', async () => {
  await world.make([group('a', 1, 'train')]);
  await until('both partitions', () => world.partitions().dev === 'a-1' && world.partitions().train === 'a-1', WAIT_MS);
  // Another number: nodes on one machine have their ports by it.
  await world.apply([group('a', 1, 'train'), group('b', 1, 'test', { nodeNames: 'b-2' })]);
  await until('the new one', () => world.partitions().dev === 'a-1,b-2' && world.partitions().test === 'b-2', WAIT_MS);
  await world.inService(2);
  await until('a job runs there', () => /./.test(world.slurmRun('srun', '-p', 'test', 'hostname')));
});
