// A managed Slurm with gres.conf and topology.conf: what is written holds, hpd may be ended at any point of a change, and
// what Slurm does not take is taken back, all of it.
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { until } from '../lib/world.mjs';
import { Managed, WAIT_MS, group } from './managed.mjs';

const GPU = { instanceType: 'ml.gpu' };
let world;

before(async () => {
  world = new Managed({
    cluster: false,
    ambush: true,
    slurmConf: 'GresTypes=gpu\nTopologyPlugin=topology/tree',
    empty: ['topology.conf', 'gres.conf'],
    links: { gpu0: '/dev/null', gpu1: '/dev/zero' }, // Slurm takes devices alone
    manage: (w) => ({ gres: join(w.slurm, 'gres.conf'), topology: join(w.slurm, 'topology.conf'), gpuDevice: join(w.slurm, 'gpu'), hardware: { 'ml.gpu': 'Gres=gpu:2', 'ml.bad': 'Gres=gpu:1 State=BOGUS' } }),
  });
  await world.start();
});
after(() => world?.end());

const unproven = () => ['holdfast.conf', 'gres.conf', 'topology.conf'].filter((name) => existsSync(join(world.slurm, `${name}.before`)));
const switches = () => world.slurmRun('scontrol', 'show', 'topology');
const place = (node, leaf) => assert.equal(world.hpctl('node', 'place', node, `switch=${leaf}`).code, 0);

test('GPUs and switches are written, and Slurm has them', async () => {
  await world.make([group('a', 2, 'train', GPU)]);
  assert.match(world.read('gres.conf'), /^NodeName=a-\[1-2\] Name=gpu File=\/.*\/gpu\[0-1\]$/m);
  assert.match(world.slurmRun('scontrol', 'show', 'node', '-o', 'a-1'), /Gres=gpu:2/);
  // A slurmd that is just reading its configuration again may refuse a step.
  await until('a job has them', () => /^0,1\n0,1$/.test(world.slurmRun('srun', '-p', 'train', '-N2', '--gres=gpu:2', 'printenv', 'CUDA_VISIBLE_DEVICES')));
  assert.equal(world.read('topology.conf'), ''); // nobody has said where they are
  place('a-1', 'leaf-a');
  place('a-2', 'leaf-b');
  await until('Slurm has the tree', () => /SwitchName=leaf-a .*Nodes=a-1\n/.test(switches()) && /SwitchName=holdfast-root .*Switches=leaf-\[a-b\]|SwitchName=holdfast-root .*Switches=leaf-a,leaf-b/.test(switches()));
  await until('a job runs over both', () => /\n/.test(world.slurmRun('srun', '-N2', '--switches=2', 'hostname')));
});

test('a configuration that Slurm refuses is taken back, gres.conf and topology.conf with it, and a job runs on', async () => {
  const id = world.slurmRun('sbatch', '--parsable', '-w', 'a-1', '-o', '/dev/null', '--wrap', 'sleep 600');
  const state = () => world.slurmRun('squeue', '-h', '-j', id, '-o', '%T %B %S');
  const running = await until('it runs', () => /^RUNNING a-1/.test(state()) && state());
  const before = ['holdfast.conf', 'gres.conf', 'topology.conf'].map((name) => world.read(name));
  await world.apply([group('a', 2, 'train', GPU), group('b', 1, 'bad', { instanceType: 'ml.bad' })]);
  await until('it was told', () => world.events({ kind: 'scheduler-configuration' }).some((e) => /Slurm refused the new configuration .*has the old one again/.test(e.message)), WAIT_MS);
  assert.deepEqual(['holdfast.conf', 'gres.conf', 'topology.conf'].map((name) => world.read(name)), before);
  assert.deepEqual(unproven(), []);
  assert.equal(state(), running);
  await world.apply([group('a', 2, 'train', GPU)]);
  await until('b is gone', () => world.json('node', 'list').length === 2, WAIT_MS);
  assert.equal(state(), running);
  world.slurmRun('scancel', id);
});

// A change of all three files that needs no restart: a-2 moves to another switch, and its partition is renamed by hand.
test('hpd killed at any point of a change: the next one brings it to its end', async () => {
  await until('nothing is under way', () => unproven().length === 0);
  let killed = 0;
  for (let at = 1, whole = false; !whole; at++) {
    const leaf = `leaf-k${at}`;
    world.trap(at);
    place('a-2', leaf);
    world.edit(/^# holdfast .*$/m, `# holdfast edited ${at}`); // our sum is gone: it is written, too
    await until('it ended, or was ended', () => world.hpd.signalCode !== null || (switches().includes(leaf) && unproven().length === 0), WAIT_MS);
    whole = world.hpd.signalCode === null;
    world.trap(0);
    if (!whole) {
      killed++;
      await world.startHpd();
    }
    await until(`all of it is there after ${at}`, () => switches().includes(leaf) && unproven().length === 0 && /^# holdfast [0-9a-f]{64}$/m.test(world.read()), WAIT_MS);
    assert.deepEqual(world.partitions(), { dev: 'a-[1-2]', train: 'a-[1-2]' });
  }
  assert.ok(killed >= 10, `killed at ${killed} points: ${world.seen().join('; ')}`);
});
