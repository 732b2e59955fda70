// A managed Slurm: its nodes and partitions are what the groups say, they come and go while jobs run on, and edits by hand
// are dealt with by the strategy.
import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { until } from '../lib/world.mjs';
import { Managed, WAIT_MS, group } from './managed.mjs';

let world, file;

const apply = (groups) => world.apply(groups);
const partitions = () => world.partitions();
const inService = (count) => world.inService(count);
const drift = () => world.json('cluster', 'describe', 'demo').scheduler.drift;

before(async () => {
  world = await new Managed({ cluster: false }).start();
  file = world.file;
});
after(() => world?.end());

test('made from nothing: the groups are nodes and partitions, dev has all', async () => {
  const made = join(world.dir, 'cluster.yaml');
  writeFileSync(made, JSON.stringify({ name: 'demo', nodeRecovery: 'Automatic', instanceGroups: [group('a', 2, 'train')] }));
  const run = world.hpctl('cluster', 'create', '-f', made);
  assert.equal(run.code, 0, run.err);
  await inService(2);
  await until('both partitions', () => /^a-\[1-2\]$/.test(partitions().dev) && /^a-\[1-2\]$/.test(partitions().train));
  assert.equal(world.json('cluster', 'describe', 'demo').scheduler.configuration, 'manage');
  assert.match(world.hpctl('cluster', 'describe', 'demo').out, /managed by Holdfast \(Merge\)/);
});

test('a group comes and goes while a job on another runs on', async () => {
  const id = world.slurmRun('sbatch', '--parsable', '-w', 'a-1', '-o', '/dev/null', '--wrap', 'sleep 600');
  const state = () => world.slurmRun('squeue', '-h', '-j', id, '-o', '%T %B %S');
  const running = await until('it runs', () => /^RUNNING a-1/.test(state()) && state());
  await apply([group('a', 2, 'train'), group('b', 1, 'test')]);
  await inService(3);
  await until('the new partition', () => partitions().test === 'b-1');
  await apply([group('a', 2, 'train')]);
  await until('it went', () => !('test' in partitions()) && !/b-1/.test(partitions().dev), WAIT_MS);
  assert.equal(state(), running); // the very same run
  world.slurmRun('scancel', id);
});

const edit = (from, to) => writeFileSync(file, readFileSync(file, 'utf8').replace(from, to));
const strategy = async (name) => {
  world.options.config.slurm.manage.strategy = name;
  world.writeConfig();
  await world.killHpd();
  await world.startHpd();
  await until('it looked', () => world.json('cluster', 'describe', 'demo').scheduler.strategy === name);
};

test('what a node is made of, edited by hand, is told and brought into force', async () => {
  const cpus = () => /CPUTot=(\d+)/.exec(world.slurmRun('scontrol', 'show', 'node', '-o', 'a-1'))[1];
  const was = cpus();
  edit(/^(NodeName=a-1 .*)$/m, (line) => line.replace(/ CPUs=\d+/, '') + ` CPUs=${Number(was) + 1}`);
  await until('Slurm has it', () => cpus() === String(Number(was) + 1), WAIT_MS); // which it takes with a restart alone
  await until('it was told', () => world.events({ kind: 'scheduler-drift' }).some((e) => /The file is not as it was written: the node a-1 has CPUs=\d+, which was not written/.test(e.message)));
  await until('it is over', () => !drift());
});

test('an edit that comes while it is being written is neither lost nor taken for what Slurm refused', async () => {
  const cpus = () => /CPUTot=(\d+)/.exec(world.slurmRun('scontrol', 'show', 'node', '-o', 'a-2'))[1];
  const told = () => world.events({ kind: 'scheduler-drift' }).filter((e) => /The file is not as it was written/.test(e.message)).length;
  const was = cpus(), before = told();
  await apply([group('a', 2, 'train'), group('b', 1, 'test')]);
  await until('the file has it', () => readFileSync(file, 'utf8').includes('NodeName=b-1')); // and slurmctld is about to be restarted
  edit(/^(NodeName=a-2 .*)$/m, (line) => `${line} CPUs=${Number(was) + 1}`);
  await until('it was told', () => told() > before);
  await until('Slurm has it', () => cpus() === String(Number(was) + 1) && partitions().test === 'b-1', WAIT_MS);
  assert.equal(world.events({ kind: 'scheduler-configuration' }).filter((e) => /refused/.test(e.message)).length, 0);
  await apply([group('a', 2, 'train')]);
  await until('it went', () => !('test' in partitions()) && !/b-1/.test(partitions().dev), WAIT_MS);
  await until('it is over', () => !drift());
});

test('Merge keeps what was written by hand', async () => {
  edit('PartitionName=train', 'PartitionName=mine Nodes=a-1\nPartitionName=train');
  await until('Slurm has it', () => partitions().mine === 'a-1');
  await until('it was told', () => world.events({ kind: 'scheduler-drift' }).some((e) => /^Partition configuration drift detected\. .*mine/.test(e.message)));
  assert.match(readFileSync(file, 'utf8'), /^PartitionName=mine Nodes=a-1$/m);
});

test('Managed writes nothing and changes no group while the file is edited', async () => {
  await strategy('Managed');
  await until('drift', () => /^Partition configuration drift detected\. .*mine/.test(drift()));
  const before = readFileSync(file, 'utf8');
  const spec = join(world.dir, 'more.yaml');
  writeFileSync(spec, JSON.stringify({ name: 'demo', nodeRecovery: 'Automatic', instanceGroups: [group('a', 3, 'train')] }));
  const run = world.hpctl('apply', '-f', spec, '--yes');
  assert.notEqual(run.code, 0);
  assert.match(run.err, /Partition configuration drift detected/);
  assert.match(world.hpctl('cluster', 'describe', 'demo').out, /Drift .*FILE\.old/);
  assert.equal(readFileSync(file, 'utf8'), before);
});

test('Overwrite makes it what the groups say', async () => {
  await strategy('Overwrite');
  await until('it went', () => !('mine' in partitions()) && !drift());
  assert.doesNotMatch(readFileSync(file, 'utf8'), /mine/);
  edit('PartitionName=dev', 'NodeName=a-[ CPUs=x\nPartitionName=dev'); // nothing that Slurm could read
  await until('it is whole again', () => !readFileSync(file, 'utf8').includes('a-[ '));
  await until('Slurm has the nodes', () => partitions().dev === 'a-[1-2]' && partitions().train === 'a-[1-2]');
});

test("HyperPod's older way: a file beside the controller's lifecycle scripts says what the groups are", async () => {
  const scripts = join(world.dir, 'lifecycle'), spec = join(world.dir, 'older.yaml');
  mkdirSync(scripts);
  writeFileSync(join(scripts, 'on_create.sh'), '#!/bin/sh\n');
  const says = (worker) => writeFileSync(join(scripts, 'provisioning_parameters.json'), JSON.stringify({ version: '1.0.0', workload_manager: 'slurm', controller_group: 'head', worker_groups: [{ instance_group_name: worker, partition_name: 'older_way' }], fsx_dns_name: 'fs.example' }));
  const beside = (name, instanceCount, more = {}) => ({ name, instanceCount, lifeCycleConfig: { sourceS3Uri: `file://${scripts}`, onCreate: 'on_create.sh' }, ...more });
  const create = (...instanceGroups) => {
    writeFileSync(spec, JSON.stringify({ name: 'older', nodeRecovery: 'Automatic', instanceGroups }));
    return world.hpctl('cluster', 'create', '-f', spec);
  };
  says('nobody');
  assert.match(create(beside('head', 0), beside('c', 1, { nodeNames: 'c-3' })).err, /worker_groups\[0\]\.instance_group_name is "nobody"/);
  says('c');
  assert.match(create(beside('head', 0, { slurmConfig: { nodeType: 'Controller' } }), beside('c', 1)).err, /cannot include both a SLURM Orchestrator Config and a provisioning_parameters\.json file simultaneously/);
  const run = create(beside('head', 0), beside('c', 1, { nodeNames: 'c-3' }));
  assert.equal(run.code, 0, run.err);
  await until('its partition', () => partitions().older_way === 'c-3' && partitions().dev === 'a-[1-2],c-3', WAIT_MS);
  const told = world.events({ kind: 'scheduler-configuration' }).map((e) => e.message);
  assert.ok(told.some((m) => /provisioning_parameters\.json was found in .*the controller group head/.test(m)), told.join('\n'));
  assert.ok(told.some((m) => /has no effect here.*: fsx_dns_name$/.test(m)), told.join('\n'));
  const group = world.json('cluster', 'describe', 'older').instanceGroups.find((g) => g.name === 'c');
  assert.equal(group.lifeCycleConfig.onCreate, 'on_create.sh');
  assert.ok(!('provisioningParameters' in group) && !('ProvisioningParameters' in group));
});
