// What goes wrong on the way: an API server that hangs or is restarted, hpd killed in the middle of a repair, a cordon that a person takes
// back, too few rights, and recovery that is switched off.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { HEALTH, KubernetesWorld, cannot } from '../lib/kubernetes.mjs';
import { FELL_OFF, until } from '../lib/world.mjs';

const why = cannot();
let world;
before(async () => {
  if (!why) world = await new KubernetesWorld({ nodes: 4, scheduler: { timeout: '3s' } }).start();
}, { timeout: 300000 });
after(async () => {
  try {
    world?.signal('kube-apiserver', 'SIGCONT');
  } catch { /* it is gone */ }
  await world?.end();
});

const scheduler = () => world.json('scheduler', 'list')[0];
const objectOf = (name) => world.kubeNode(name).metadata.name;

test('an API server that hangs is told as down; the repair that began meanwhile goes on when it answers', { skip: why }, async () => {
  world.signal('kube-apiserver', 'SIGSTOP');
  world.kernel('gpu-1', FELL_OFF);
  await until('it is down', () => scheduler().state === 'down');
  assert.match(scheduler().error, /did not answer/);
  world.signal('kube-apiserver', 'SIGCONT');
  await world.repaired('gpu-1', 'reboot');
  assert.equal(scheduler().state, 'up');
});

test('an API server that is killed and started again is followed as before', { skip: why }, async () => {
  world.signal('kube-apiserver', 'SIGKILL');
  await until('it is down', () => scheduler().state === 'down');
  world.kubernetesLab('again', 'kube-apiserver');
  await until('it is up', () => scheduler().state === 'up');
  const object = objectOf('gpu-2');
  world.kubectl('label', '--overwrite', 'node', object, `${HEALTH}=UnschedulablePendingReboot`);
  await world.repaired('gpu-2', 'reboot');
  assert.equal(objectOf('gpu-2'), object);
});

test('hpd killed with the node cordoned ends the same repair, once', { skip: why }, async () => {
  const object = objectOf('gpu-3');
  world.kernel('gpu-3', FELL_OFF);
  await until('it is cordoned', () => world.kubeNode('gpu-3').spec.unschedulable);
  await world.killHpd();
  await world.startHpd();
  await world.repaired('gpu-3', 'reboot');
  assert.equal(objectOf('gpu-3'), object);
  assert.equal(world.operations('gpu-3').filter((o) => o.kind === 'reboot').length, 1);
});

test('a health status that is none is said beside it, and nothing is done', { skip: why }, async () => {
  const object = objectOf('gpu-4');
  world.kubectl('label', '--overwrite', 'node', object, `${HEALTH}=unschedulablePendingReboot`);
  await until('the hint is there', () => /UnschedulablePendingReboot or/.test(world.kubeNode('gpu-4').metadata.annotations?.['holdfast/hint'] ?? ''));
  await world.looks(3);
  assert.deepEqual(world.operations('gpu-4').filter((o) => o.kind !== 'launch'), []);
  world.kubectl('label', '--overwrite', 'node', object, `${HEALTH}=Schedulable`);
});

test('without the right to change nodes the repair says so, and goes on when it is there', { skip: why }, async () => {
  world.kubectl('delete', 'clusterrolebinding', 'holdfast-lab');
  world.kubectl('create', 'clusterrole', 'looks-only', '--verb=get,list,watch', '--resource=nodes,pods');
  world.kubectl('create', 'clusterrolebinding', 'holdfast-lab', '--clusterrole=looks-only', '--user=holdfast');
  world.kernel('gpu-4', FELL_OFF);
  await until('the timeline says which right is missing', () => world.events({ node: 'gpu-4' }).some((e) => /cannot patch resource/.test(JSON.stringify(e))));
  world.kubectl('delete', 'clusterrolebinding', 'holdfast-lab');
  world.kubectl('create', 'clusterrolebinding', 'holdfast-lab', '--clusterrole=holdfast', '--user=holdfast');
  await world.repaired('gpu-4', 'reboot');
});
