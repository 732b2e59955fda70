// One Slurm and one Kubernetes under one hpd: the same line of the kernel log gives the same decision on both, each in its own words.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { HEALTH, HYPERPOD, cannot } from '../lib/kubernetes.mjs';
import { root } from '../lib/programs.mjs';
import { FELL_OFF, World, until } from '../lib/world.mjs';

const why = cannot();
const NODES = 2;
let world, kubernetes;
const lab = (verb) => {
  const run = spawnSync(join(root, 'tests/support/kubernetes-lab'), [verb, kubernetes], { encoding: 'utf8' });
  assert.equal(run.status, 0, run.stderr);
};
const kubectl = (...args) => {
  const run = spawnSync(join(kubernetes, 'bin/kubectl'), ['--kubeconfig', join(kubernetes, 'admin.conf'), ...args], { encoding: 'utf8' });
  assert.equal(run.status, 0, run.stderr);
  return run.stdout;
};
const kubeNodes = () => JSON.parse(kubectl('get', 'nodes', '-o', 'json')).items;
const node = (cluster, name) => world.json('node', 'describe', name, '-c', cluster);
const fault = (cluster, name) => writeFileSync(join(world.dir, 'instances', node(cluster, name).instanceId, 'kmsg'), `${FELL_OFF}\n`, { flag: 'a' });
const events = (cluster, name, kind) => world.json('event', 'list', '--limit', '0', '-c', cluster, '--node', name).filter((e) => e.kind === kind);
const done = (cluster, name, kind) => world.json('operation', 'list', '-c', cluster, '--node', name, '--limit', '0').filter((o) => o.kind === kind && o.state === 'succeeded').length;
const file = (cluster, more = {}) => {
  const path = join(world.dir, `${cluster}.yaml`);
  writeFileSync(path, JSON.stringify({ name: cluster, scheduler: cluster, nodeRecovery: 'Automatic', instanceGroups: [{ name: 'workers', instanceCount: NODES, nodeNames: `gpu-[1-${NODES}]` }], ...more }));
  return path;
};

before(async () => {
  if (why) return;
  world = new World({ nodes: NODES, cluster: false });
  kubernetes = join(world.dir, 'kubernetes');
  world.writeConfig = ((own) => () => {
    own.call(world);
    const config = JSON.parse(readFileSync(world.config, 'utf8'));
    const { conf } = config.slurm;
    delete config.slurm;
    config.schedulers = [
      { name: 'slurm', kind: 'slurm', conf, timeout: '10s' },
      { name: 'kube', kind: 'kubernetes', kubeconfig: join(kubernetes, 'holdfast.conf'), timeout: '10s' }];
    const start = join(world.dir, 'daemon.sh');
    const slurmd = world.slurmd.map((w) => (w === '{firstStart:-b}' ? '$3' : w.replace('{node}', '$2'))).join(' ');
    writeFileSync(start, `#!/bin/sh\nif [ "$1" = slurm ]; then export SLURM_CONF=${conf}; exec ${slurmd}; fi\n` +
      `exec ${join(root, 'tests/support/kubernetes-node')} ${kubernetes} hyperpod-$4 --label holdfast/node=$2 --label ${HYPERPOD}instance-group-name=workers\n`, { mode: 0o755 });
    config.providers.local.services[0].command = [start, '{cluster}', '{node}', '{firstStart:-b}', '{instance}'];
    writeFileSync(world.config, JSON.stringify(config));
  })(world.writeConfig);
  lab('start');
  await world.start();
  for (const cluster of ['slurm', 'kube']) {
    const made = world.hpctl('apply', '-f', file(cluster), '--yes');
    assert.equal(made.code, 0, made.err);
  }
  for (const cluster of ['slurm', 'kube'])
    await until(`all nodes of ${cluster} are ready`, () => world.json('node', 'list', '-c', cluster).every((n) => n.state === 'ready' && n.health === 'healthy'));
}, { timeout: 300000 });
after(async () => {
  if (kubernetes && existsSync(kubernetes)) lab('stop');
  await world?.end();
});

test('the same fault is decided alike, and repaired in both', { skip: why }, async () => {
  for (const cluster of ['slurm', 'kube']) fault(cluster, 'gpu-1');
  for (const cluster of ['slurm', 'kube']) await until(`gpu-1 of ${cluster} is repaired`, () => done(cluster, 'gpu-1', 'reboot') === 1 && node(cluster, 'gpu-1').state === 'ready');
  const said = ['slurm', 'kube'].map((cluster) => events(cluster, 'gpu-1', 'decision').map((e) => e.message));
  assert.deepEqual(said[0], said[1]);
  assert.equal(said[0].length, 1);
  const marks = ['slurm', 'kube'].map((cluster) => events(cluster, 'gpu-1', 'scheduler-mark')[0].message);
  assert.match(marks[0], /Action:Reboot/);
  assert.match(marks[1], /UnschedulablePendingReboot/);
  await until('Slurm has it idle', () => world.slurmNode('gpu-1').state === 'IDLE');
  await until('Kubernetes has it Schedulable', () => kubeNodes().every((n) => n.metadata.labels[HEALTH] === 'Schedulable' && !n.spec.unschedulable));
});

test('both are listed, each of its kind', { skip: why }, () => {
  assert.deepEqual(world.json('scheduler', 'list').map((s) => [s.name, s.kind, s.state]), [['slurm', 'slurm', 'up'], ['kube', 'kubernetes', 'up']]);
  assert.equal(world.json('cluster', 'describe', 'kube').orchestrator, 'kubernetes');
});

test('make demo WITH=kubernetes ONCE=1', { skip: why, timeout: 600000 }, () => {
  const run = spawnSync(join(root, 'demo/kubernetes'), ['--once'], { encoding: 'utf8' });
  assert.equal(run.status, 0, run.stdout + run.stderr);
  for (const seen of [/verdict/, /UnschedulablePendingReboot/, /UnschedulablePendingReplacement/, /pods run on its new machine/]) assert.match(run.stdout, seen);
});
