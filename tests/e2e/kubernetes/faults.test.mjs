// HyperPod's words on a node with a fault: labels, the annotation with the details, the condition and the Event, as kubectl shows them.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { HEALTH, HYPERPOD, KubernetesWorld, cannot } from '../lib/kubernetes.mjs';
import { FELL_OFF, until } from '../lib/world.mjs';

const why = cannot();
const LABEL = /^([A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?)?$/;
let world;
before(async () => {
  if (!why) world = await new KubernetesWorld({ nodes: 2 }).start();
}, { timeout: 300000 });
after(() => world?.end());

const objectOf = (name) => world.kubeNode(name).metadata.name;
const condition = (name, type) => world.kubeNode(name)?.status.conditions.find((c) => c.type === type);
const label = (name, what) => world.kubeNode(name)?.metadata.labels[`${HYPERPOD}${what}`];
const details = (name) => JSON.parse(world.kubeNode(name).metadata.annotations?.[`${HYPERPOD}fault-details`] ?? '[]');
const events = (object) => JSON.parse(world.kubectl('get', 'events', '-n', 'default', '-o', 'json', '--field-selector', `involvedObject.kind=Node,involvedObject.name=${object},source=holdfast`)).items;
const recovery = (to) => {
  const file = join(world.dir, 'cluster.yaml');
  writeFileSync(file, JSON.stringify({ name: 'demo', nodeRecovery: to, instanceGroups: [{ name: 'workers', instanceCount: 2, nodeNames: 'gpu-[1-2]' }] }));
  const done = world.hpctl('apply', '-f', file, '--yes');
  assert.equal(done.code, 0, done.err);
};

test('with NodeRecovery None a fault is written on the node, and nothing is repaired', { skip: why }, async () => {
  const object = objectOf('gpu-1');
  recovery('None');
  world.kernel('gpu-1', FELL_OFF);
  const on = await until('the condition is True', () => condition('gpu-1', 'NvidiaErrorReboot')?.status === 'True' && condition('gpu-1', 'NvidiaErrorReboot'));
  assert.equal(on.reason, 'NvidiaGPUUnhealthy');
  assert.match(on.message, /Xid/);
  assert.equal(label('gpu-1', 'fault-types'), 'NvidiaErrorReboot');
  assert.equal(label('gpu-1', 'fault-reasons'), 'NvidiaGPUUnhealthy');
  for (const value of Object.values(world.kubeNode('gpu-1').metadata.labels)) assert.match(value, LABEL);
  assert.deepEqual(details('gpu-1').map((d) => [Object.keys(d).sort().join(), d.type, d.reason, /Xid/.test(d.message), Number.isNaN(Date.parse(d.timestamp))]),
    [['message,reason,timestamp,type', 'NvidiaErrorReboot', 'NvidiaGPUUnhealthy', true, false]]);
  const [event] = await until('its Event is there', () => events(object).length > 0 && events(object));
  assert.equal(event.type, 'Warning');
  assert.equal(event.reason, 'NvidiaGPUUnhealthy');
  const decisions = world.events({ node: 'gpu-1', kind: 'decision' }).map((e) => e.message);
  assert.ok(decisions.some((message) => message.endsWith(event.message)), JSON.stringify([event.message, decisions]));
  await until('its label says so', () => world.health('gpu-1') === 'Unschedulable');
  await world.looks(3);
  assert.equal(world.kubeNode('gpu-1').spec.unschedulable, undefined);
  assert.deepEqual((world.kubeNode('gpu-1').spec.taints ?? []).filter((t) => t.key === HEALTH), []);
  assert.deepEqual(world.operations('gpu-1').filter((o) => o.kind === 'reboot' || o.kind === 'replace'), []);
});

test('the repair takes the labels away and the condition back; the details stay', { skip: why }, async () => {
  recovery('Automatic');
  await world.repaired('gpu-1', 'reboot');
  const off = await until('the condition is False', () => condition('gpu-1', 'NvidiaErrorReboot')?.status === 'False' && condition('gpu-1', 'NvidiaErrorReboot'));
  assert.equal(off.reason, 'Recovered');
  await until('the labels are gone', () => label('gpu-1', 'fault-types') === undefined && label('gpu-1', 'fault-reasons') === undefined);
  assert.equal(details('gpu-1').length, 1);
});

test('hpd that is killed meanwhile takes them away after its start, and tells nothing twice', { skip: why }, async () => {
  const object = objectOf('gpu-2');
  recovery('None');
  world.kernel('gpu-2', FELL_OFF);
  await until('the condition is True', () => condition('gpu-2', 'NvidiaErrorReboot')?.status === 'True');
  await until('its Event is there', () => events(object).length === 1);
  await world.killHpd();
  await world.startHpd();
  recovery('Automatic');
  await world.repaired('gpu-2', 'reboot');
  await until('the condition is False', () => condition('gpu-2', 'NvidiaErrorReboot').status === 'False' && label('gpu-2', 'fault-types') === undefined);
  assert.equal(events(object).length, 1);
  assert.equal(details('gpu-2').length, 1);
});
