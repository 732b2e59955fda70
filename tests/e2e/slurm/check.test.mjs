// Deep health checks where Slurm schedules: a node under test is quarantined by HyperPod's names, jobs are left alone, and afterwards
// everything is as it was, whoever was killed meanwhile.
import assert from 'node:assert/strict';
import { chmodSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, beforeEach, test } from 'node:test';
import { agentService } from '../lib/programs.mjs';
import { World, until } from '../lib/world.mjs';

const RESERVATION = 'hyperpod-deep-health-check';
const PARTITION = 'hyperpod-system-maintenance';
const FEATURE = 'SageMakerDeepHealthCheck:InProgress';
const ACTIVE = ['pending', 'running'];

let world, go;
before(async () => {
  world = new World({ cluster: false });
  const tools = join(world.dir, 'tools');
  go = join(world.dir, 'go');
  mkdirSync(tools);
  // A stress test that lasts until it is told to end.
  writeFileSync(join(tools, 'stress-ng'), `#!/bin/sh\nwhile [ ! -e ${go} ]; do sleep 0.1; done\n`);
  chmodSync(join(tools, 'stress-ng'), 0o755);
  world.options.agent = { ...agentService, command: ['/usr/bin/env', `PATH=${tools}:/usr/bin:/bin`, ...agentService.command] };
  world.options.config = { checks: { busyWait: '3s', stressTime: '1s' } };
  await world.start();
  const file = join(world.dir, 'cluster.yaml');
  const group = { name: 'workers', instanceCount: 3, nodeNames: 'gpu-[1-3]' };
  writeFileSync(file, JSON.stringify({ name: 'demo', nodeRecovery: 'Automatic', instanceGroups: [group] }));
  assert.equal(world.hpctl('cluster', 'create', '-f', file).code, 0);
  await until('three nodes ready', () => {
    const nodes = world.json('node', 'list');
    return nodes.length === 3 && nodes.every((n) => n.state === 'ready' && n.health === 'healthy' && world.slurmNode(n.name).state === 'IDLE');
  });
});
after(() => world?.end());
beforeEach(() => rmSync(go, { force: true }));

const scontrol = (...args) => world.slurmRun('scontrol', '-a', '-o', ...args);
const shown = (what, name) => {
  const run = world.run('scontrol', '-a', '-o', 'show', what, name);
  return run.code === 0 ? run.out : '';
};
const expand = (text) => {
  const list = / Nodes=(\S+)/.exec(text)?.[1] ?? '(null)';
  return list === '(null)' ? [] : world.slurmRun('scontrol', 'show', 'hostnames', list).split('\n');
};
const features = (name) => {
  const text = scontrol('show', 'node', name);
  return ['Available', 'Active'].map((k) => new RegExp(` ${k}Features=(\\S*)`).exec(text)[1].replace('(null)', '')).join('|');
};
const apart = (name) => [expand(shown('reservation', RESERVATION)).includes(name), expand(shown('partition', PARTITION)).includes(name), features(name).includes(FEATURE)];
const everything = () => ({
  partitions: scontrol('show', 'partition'),
  reservations: scontrol('show', 'reservation'),
  nodes: ['gpu-1', 'gpu-2', 'gpu-3'].map((n) => [features(n), world.slurmNode(n)]),
});
const start = (...nodes) => world.json('check', 'start', '--nodes', nodes.join(','), '--quick').checks;
const check = (id) => world.json('check', 'describe', id);
const ended = (id) => until(`${id} has ended`, () => check(id).finishedAt && check(id));
const idle = (name) => until(`${name} is free`, () => world.node(name).state === 'ready' && world.slurmNode(name).state === 'IDLE');
// Slurm's reservation goes first, partition and features follow.
const isAsBefore = (before) => until('all is as it was', () => assert.deepEqual(everything(), { ...before, nodes: everything().nodes }) === undefined);
const isApart = (name) => until(`${name} is quarantined`, () => apart(name).every(Boolean));

test('quarantined by name while it is tested, a busy one is left alone, and all is as it was', async () => {
  scontrol('update', 'NodeName=gpu-2', 'AvailableFeatures=a,b', 'ActiveFeatures=a');
  scontrol('create', 'reservation', 'ReservationName=theirs', 'Users=root', 'StartTime=now+1hour', 'Duration=60', 'Nodes=gpu-2');
  const before = everything();
  const job = world.slurmRun('sbatch', '--parsable', '-N1', '-w', 'gpu-1', '-o', '/dev/null', '--wrap', 'sleep 600');
  await until('the job runs', () => world.slurmRun('squeue', '-h', '-j', job, '-o', '%T') === 'RUNNING');
  const checks = Object.fromEntries(start('gpu-1', 'gpu-2').map((c) => [c.node, c.id]));
  await isApart('gpu-2');
  assert.equal(features('gpu-2'), `a,b,${FEATURE}|a,${FEATURE}`);
  assert.match(shown('reservation', RESERVATION), /Flags=MAINT,IGNORE_JOBS/);
  await until('gpu-2 is shown under maintenance', () => /MAINT/.test(world.slurmNode('gpu-2').state)); // Slurm looks at reservations from time to time
  assert.ok(world.events({ node: 'gpu-2' }).some((e) => /in quarantine/.test(e.message)));
  // The busy one is waited for, then skipped and reported; its job never noticed.
  const skipped = await ended(checks['gpu-1']);
  assert.equal(skipped.state, 'skipped');
  assert.match(skipped.detail, /still busy/);
  await until('gpu-1 is not in quarantine', () => apart('gpu-1').every((x) => !x) && !/DRAIN/.test(world.slurmNode('gpu-1').state));
  assert.equal(world.slurmRun('squeue', '-h', '-j', job, '-o', '%T'), 'RUNNING');
  assert.deepEqual(expand(shown('reservation', RESERVATION)), ['gpu-2']);
  // hpd is killed in the middle of it.
  await world.killHpd();
  await world.startHpd();
  assert.deepEqual(apart('gpu-2'), [true, true, true]);
  writeFileSync(go, '');
  assert.equal((await ended(checks['gpu-2'])).state, 'passed');
  await idle('gpu-2');
  world.slurmRun('scancel', job);
  await idle('gpu-1');
  assert.deepEqual(everything(), before);
  scontrol('delete', 'ReservationName=theirs');
});

test('cancelled in the middle, while slurmctld forgot what it was told', async () => {
  const before = everything();
  // A slurmctld that is killed comes back with what it saved last.
  await until('it has saved that nothing is reserved', () => {
    const saved = readFileSync(join(world.slurm, 'state/resv_state'));
    return [RESERVATION, 'theirs'].every((name) => !saved.includes(name));
  });
  const [{ id }] = start('gpu-3');
  await isApart('gpu-3');
  world.lab('end', world.slurm, 'slurmctld');
  world.lab('begin', world.slurm, 'slurmctld');
  await isApart('gpu-3'); // it is told again
  assert.equal(world.hpctl('check', 'cancel', id).code, 0);
  assert.equal((await ended(id)).state, 'cancelled');
  await idle('gpu-3');
  await isAsBefore(before);
  assert.deepEqual(apart('gpu-3'), [false, false, false]);
});

test('given back and forgotten by a slurmctld that had not saved it, the reservation is taken away again', async () => {
  const before = everything(), file = join(world.slurm, 'state/resv_state');
  const given = () => world.events({ node: 'gpu-3' }).filter((e) => /released from quarantine/.test(e.message)).length, givenBefore = given();
  // An earlier one that is still saved would be another reservation, which began at another time.
  await until('no earlier one is saved', () => !existsSync(file) || !readFileSync(file).includes(RESERVATION));
  const [{ id }] = start('gpu-3');
  await isApart('gpu-3');
  // slurmctld takes the file away for a moment when it saves.
  const saved = await until('it has saved the reservation', () => { const text = readFileSync(file); return text.includes(RESERVATION) && text; });
  assert.equal(world.hpctl('check', 'cancel', id).code, 0);
  assert.equal((await ended(id)).state, 'cancelled');
  await until('it is given back, and hpd has seen that', () => apart('gpu-3').every((x) => !x) && given() > givenBefore);
  world.lab('end', world.slurm, 'slurmctld');
  writeFileSync(file, saved);
  world.lab('begin', world.slurm, 'slurmctld');
  // Slurm's own log tells of both; hpd's timeline only where slurmctld answers until the end of the change, as it has just started.
  const log = () => readFileSync(join(world.slurm, 'log/slurmctld.log'), 'utf8').split(`Recovered state of reservation ${RESERVATION}`);
  await until('it came back, and was taken away', () => log().length > 1 && log().at(-1).includes(`delete_reservation complete for ${RESERVATION}`), 240000);
  await idle('gpu-3');
  await isAsBefore(before);
  assert.deepEqual(apart('gpu-3'), [false, false, false]);
});

test('killed between every two steps, nothing of it stays behind', async () => {
  const before = everything();
  const [{ id }] = start('gpu-2');
  for (const step of ['mark', 'drain', 'check', 'verify', 'resume']) {
    await until(step, () => {
      const operation = world.operations('gpu-2').find((o) => o.id === id);
      return !ACTIVE.includes(operation.state) || operation.steps.find((s) => s.name === step).state !== 'waiting';
    });
    if (step === 'check') writeFileSync(go, '');
    await world.killHpd();
    await world.startHpd();
  }
  assert.equal((await ended(id)).state, 'passed');
  await idle('gpu-2');
  assert.deepEqual(everything(), before);
});

test("what is somebody else's under those names is not touched, and that is said once", async () => {
  scontrol('create', 'reservation', `ReservationName=${RESERVATION}`, 'Users=root', 'StartTime=now', 'Duration=60', 'Flags=MAINT,IGNORE_JOBS', 'Nodes=gpu-4');
  scontrol('create', `PartitionName=${PARTITION}`, 'Nodes=gpu-3,gpu-4', 'State=UP');
  const before = everything();
  const started = start('gpu-2', 'gpu-3');
  await until('both are tested', () => started.every(({ id }) => check(id).state === 'running'));
  assert.deepEqual(expand(shown('reservation', RESERVATION)), ['gpu-4']);
  assert.deepEqual(expand(shown('partition', PARTITION)), ['gpu-2', 'gpu-3', 'gpu-4']);
  for (const name of ['gpu-2', 'gpu-3']) assert.match(world.slurmNode(name).state, /DRAIN/);
  writeFileSync(go, '');
  for (const { id } of started) assert.equal((await ended(id)).state, 'passed');
  for (const { node } of started) await idle(node);
  assert.deepEqual(everything(), before);
  assert.equal(world.events().filter((e) => /did not make/.test(e.message)).length, 1);
  scontrol('delete', `ReservationName=${RESERVATION}`);
  scontrol('delete', `PartitionName=${PARTITION}`);
});

test('a new machine is quarantined before it takes work, where its group wants it tested', async () => {
  const before = everything();
  const spec = world.json('cluster', 'export');
  spec.instanceGroups[0].onStartDeepHealthChecks = ['InstanceStress'];
  Object.assign(spec.instanceGroups[0], { instanceCount: 4, nodeNames: 'gpu-[1-4]' });
  const file = join(world.dir, 'grown.yaml');
  writeFileSync(file, JSON.stringify(spec));
  assert.equal(world.hpctl('apply', '-f', file, '--yes').code, 0);
  await isApart('gpu-4');
  assert.match(world.slurmNode('gpu-4').state, /DRAIN/);
  writeFileSync(go, '');
  await idle('gpu-4');
  assert.deepEqual(apart('gpu-4'), [false, false, false]);
  assert.deepEqual({ ...everything(), nodes: 0 }, { ...before, nodes: 0 });
});
