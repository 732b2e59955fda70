// Two private Slurms under one hpd, with the same node names in both: each is repaired by itself, and one whose slurmctld hangs holds up
// nothing of the other.
import assert from 'node:assert/strict';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { FELL_OFF, World, until } from '../lib/world.mjs';

let world, west;
const NODES = 4;
const names = ['east', 'west'];
const lab = (...args) => world.lab(...args);

// The second Slurm: its directory, its environment and its programs.
class Other {
  constructor(dir) {
    this.dir = dir;
    lab('start', dir, '--nodes', `gpu-[1-${NODES}]`, '--no-slurmd');
    const env = lab('env', dir);
    this.conf = /SLURM_CONF=(.*)/.exec(env)[1];
    this.slurmd = /SLURMD="(.*)"/.exec(env)[1].split(' ');
  }

  state(node) {
    const run = world.run('env', `SLURM_CONF=${this.conf}`, 'scontrol', 'show', 'node', '-o', node);
    return /State=(\S+)/.exec(run.out)?.[1];
  }

  slurmctld(signal) {
    process.kill(Number(readFileSync(join(this.dir, 'run/slurmctld.pid'), 'utf8').split(' ')[0]), signal);
  }

  end() {
    if (existsSync(this.dir)) lab('stop', this.dir);
  }
}

const node = (cluster, name) => world.json('node', 'describe', name, '-c', cluster);
const events = (cluster, kind) => world.json('event', 'list', '--limit', '0', '-c', cluster).filter((e) => e.kind === kind);
const scheduler = (name) => world.json('scheduler', 'list').find((s) => s.name === name);
const fault = (cluster, name) => writeFileSync(join(world.dir, 'instances', node(cluster, name).instanceId, 'kmsg'), `${FELL_OFF}\n`, { flag: 'a' });
const reboots = (cluster, name) => world.json('operation', 'list', '-c', cluster, '--node', name, '--limit', '0').filter((o) => o.kind === 'reboot' && o.state === 'succeeded');
const repaired = (cluster, name, before) => until(`${name} of ${cluster} is repaired`, () => reboots(cluster, name).length > before && node(cluster, name).state === 'ready');

before(async () => {
  world = new World({ nodes: NODES, cluster: false });
  // Each machine starts the slurmd of its own cluster's Slurm: {cluster} tells which.
  world.writeConfig = ((own) => () => {
    west = west ?? new Other(join(world.dir, 'west'));
    own.call(world);
    const config = JSON.parse(readFileSync(world.config, 'utf8'));
    const { conf } = config.slurm;
    delete config.slurm;
    config.schedulers = [
      { name: 'east', kind: 'slurm', conf, timeout: '10s', jobSnapshotInterval: '500ms' },
      { name: 'west', kind: 'slurm', conf: west.conf, timeout: '3s', observeInterval: '700ms', jobSnapshotInterval: '1s' }];
    const start = join(world.dir, 'slurmd.sh');
    const command = (words) => `exec ${words.map((w) => (w === '{firstStart:-b}' ? '$3' : w.replace('{node}', '$2'))).join(' ')}`;
    const here = world.slurmd.map((w) => w);
    const there = west.slurmd.map((w) => (w === '-b' ? '{firstStart:-b}' : w));
    writeFileSync(start, `#!/bin/sh\nif [ "$1" = east ]; then export SLURM_CONF=${conf}; ${command(here)}; fi\nexport SLURM_CONF=${west.conf}; ${command(there)}\n`, { mode: 0o755 });
    config.providers.local.services[0].command = [start, '{cluster}', '{node}', '{firstStart:-b}'];
    writeFileSync(world.config, JSON.stringify(config));
  })(world.writeConfig);
  await world.start();
  for (const name of names) {
    const file = join(world.dir, `${name}.yaml`);
    writeFileSync(file, JSON.stringify({ name, scheduler: name, nodeRecovery: 'Automatic', instanceGroups: [{ name: 'workers', instanceCount: NODES, nodeNames: `gpu-[1-${NODES}]` }] }));
    const made = world.hpctl('apply', '-f', file, '--yes');
    assert.equal(made.code, 0, made.err);
  }
  for (const name of names)
    await until(`all nodes of ${name} are ready`, () => world.json('node', 'list', '-c', name).every((n) => n.state === 'ready' && n.health === 'healthy'));
  await until('both Slurms have them idle', () => world.slurmNode('gpu-1').state === 'IDLE' && west.state('gpu-1') === 'IDLE');
});
after(async () => {
  try {
    west?.slurmctld('SIGCONT');
  } catch { /* it is gone */ }
  west?.end(); // its directory goes with the world's
  await world?.end();
});

test('each scheduler is shown by itself', async () => {
  const list = await until('both are seen', () => {
    const now = world.json('scheduler', 'list');
    return now.every((s) => s.state === 'up' && s.nodeCount === NODES) && now;
  });
  assert.deepEqual(list.map((s) => [s.name, s.kind, s.unassignedCount, s.clusters]), names.map((name) => [name, 'slurm', 0, [name]]));
  assert.equal(world.json('scheduler', 'describe', 'west').partitions[0].nodeCount, NODES);
  assert.equal(world.json('cluster', 'describe', 'west').scheduler.name, 'west');
  assert.match(world.hpctl('scheduler', 'describe').err, /name one of east, west/);
  assert.match(world.hpctl('cluster', 'export', 'west').out, /^scheduler: west$/m);
  const file = join(world.dir, 'moved.yaml');
  writeFileSync(file, JSON.stringify({ name: 'west', scheduler: 'east', instanceGroups: [{ name: 'workers', instanceCount: NODES, nodeNames: `gpu-[1-${NODES}]` }] }));
  assert.match(world.hpctl('apply', '-f', file, '--yes').err, /the scheduler of a cluster cannot be changed; west has west/);
});

test('the same node of both is repaired at once, each in its own Slurm', async () => {
  for (const name of names) fault(name, 'gpu-1');
  await Promise.all(names.map((name) => repaired(name, 'gpu-1', 0)));
  await until('both are idle again', () => world.slurmNode('gpu-1').state === 'IDLE' && west.state('gpu-1') === 'IDLE');
  for (const name of names) assert.deepEqual(['gpu-1', 'gpu-2'].map((n) => reboots(name, n).length), [1, 0]);
});

test('their figures do not fall together', async () => {
  const text = await (await fetch(`${world.url}/metrics`, { headers: { authorization: `Bearer ${world.token}` } })).text();
  for (const name of names) {
    assert.match(text, new RegExp(`^slurm_nodes_total\\{scheduler="${name}"\\} ${NODES}$`, 'm'));
    assert.match(text, new RegExp(`^holdfast_scheduler_up\\{scheduler="${name}"\\} 1$`, 'm'));
  }
  const heads = text.split('\n').filter((line) => line.startsWith('# TYPE'));
  assert.equal(new Set(heads).size, heads.length);
});

test('one slurmctld hangs: the other is repaired meanwhile, only its own clusters are told, and it goes on where it was', async () => {
  const took = async (name) => {
    const from = Date.now();
    fault('east', name);
    await repaired('east', name, 0);
    return Date.now() - from;
  };
  const alone = await took('gpu-2');
  west.slurmctld('SIGSTOP');
  fault('west', 'gpu-2');
  await until('it is told as down', () => scheduler('west').state === 'down' && events('west', 'scheduler-down').length > 0);
  assert.match(world.hpctl('scheduler', 'list').out, /^west +slurm +down /m);
  const hung = await took('gpu-3');
  console.log(`# a repair took ${alone} ms, and ${hung} ms beside a slurmctld that hangs`);
  assert.equal(scheduler('east').state, 'up');
  assert.equal(scheduler('west').state, 'down');
  assert.equal(reboots('west', 'gpu-2').length, 0);
  west.slurmctld('SIGCONT');
  await repaired('west', 'gpu-2', 0);
  await until('it is idle again', () => west.state('gpu-2') === 'IDLE');
  assert.equal(events('west', 'scheduler-back').length, 1);
  assert.deepEqual(['scheduler-down', 'scheduler-back'].map((kind) => events('east', kind).length), [0, 0]);
});
