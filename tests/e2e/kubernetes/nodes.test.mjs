// Whole nodes: containerd and kubelet, and pods that are processes. A fault takes a node out, its pod is evicted and ends, the node reboots;
// a label by hand replaces the machine, and a node with a new name joins. What is not real: the nodes share the host's kernel, so a reboot is
// the end of every process of the node and a start with another boot id, and only the boot id's file says so.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { HEALTH } from '../lib/kubernetes.mjs';
import { NodesWorld, POD_IMAGE, cannotRunNodes } from '../lib/kubernetes_nodes.mjs';
import { FELL_OFF, until } from '../lib/world.mjs';

const why = cannotRunNodes();
let world, ended;
before(async () => {
  if (!why) await (world = new NodesWorld({ recovery: { evictDeadline: '60s' } })).start();
}, { timeout: 300000 });
const end = async () => {
  if (world && !ended) {
    ended = true;
    await world.end();
  }
};
after(end);

const podsOn = (object) => JSON.parse(world.kubectl('get', 'pods', '-n', 'default', '-o', 'json', '--field-selector', `spec.nodeName=${object}`)).items;
const runningOn = (object) => podsOn(object).find((p) => p.status.phase === 'Running' && p.status.containerStatuses?.[0].ready && !p.metadata.deletionTimestamp);
const deployment = (name, object) => ({
  apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name, namespace: 'default' },
  spec: { replicas: 1, selector: { matchLabels: { app: name } }, template: { metadata: { labels: { app: name } }, spec: { nodeSelector: { 'kubernetes.io/hostname': object }, containers: [{ name: 'c', image: POD_IMAGE }], terminationGracePeriodSeconds: 1 } } } });
// The process that a pod's container is, seen from the host: the control group of a process names the pod.
const processOf = (uid) => readdirSync('/proc').filter((pid) => /^\d+$/.test(pid)).find((pid) => {
  try {
    return readFileSync(`/proc/${pid}/cgroup`, 'utf8').includes(uid) && readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes('sleep');
  } catch {
    return false;
  }
});
const evictions = () => readFileSync(join(world.kubernetes, 'audit.log'), 'utf8').trim().split('\n').map((line) => JSON.parse(line))
  .filter((e) => e.objectRef?.subresource === 'eviction' && e.verb === 'create' && e.responseStatus.code < 300);

test('three kubelets have joined with their own containerd', { skip: why }, () => {
  const nodes = world.kubeNodes();
  assert.equal(nodes.length, 3);
  for (const node of nodes) {
    assert.match(node.status.nodeInfo.containerRuntimeVersion, /^containerd:\/\/\d/);
    assert.match(node.status.nodeInfo.kubeletVersion, /^v1\.\d+\.\d+$/);
  }
  for (const what of ['bootID', 'machineID']) assert.equal(new Set(nodes.map((n) => n.status.nodeInfo[what])).size, 3, what);
  assert.equal(new Set(nodes.map((n) => n.status.addresses.find((a) => a.type === 'InternalIP').address)).size, 3);
});

test('a fault line: taint, eviction of a real pod, reboot, Schedulable, and the pod runs again', { skip: why }, async () => {
  const { metadata: { name: object, uid }, status: { nodeInfo: { bootID } } } = world.kubeNode('gpu-1');
  world.apply(deployment('web', object));
  const pod = await until('the pod runs', () => runningOn(object));
  assert.ok(await until('its process runs', () => processOf(pod.metadata.uid)));
  world.kernel('gpu-1', FELL_OFF);
  await until('it is tainted for a reboot', () => {
    const node = world.kubeNode('gpu-1');
    return node.metadata.labels[HEALTH] === 'UnschedulablePendingReboot' && node.spec.unschedulable && node.spec.taints.some((t) => t.key === HEALTH && t.value === 'Unschedulable' && t.effect === 'NoSchedule');
  });
  await until('the pod was evicted by the eviction API', () => evictions().some((e) => e.objectRef.name === pod.metadata.name));
  await until('its process has ended', () => !processOf(pod.metadata.uid));
  await world.repaired('gpu-1', 'reboot');
  const again = await until('kubelet reports the new boot', () => {
    const node = world.kubeNode('gpu-1');
    return node.status.nodeInfo.bootID !== bootID && node;
  });
  assert.deepEqual([again.metadata.name, again.metadata.uid], [object, uid]);
  const next = await until('a pod runs there again', () => runningOn(object));
  assert.notEqual(next.metadata.uid, pod.metadata.uid);
  world.kubectl('delete', 'deployment', 'web', '--wait=false');
});

test('a label by hand: the pod leaves, a new machine joins under a new name, is checked, and is Schedulable', { skip: why }, async () => {
  const old = world.kubeNode('gpu-2').metadata.name, machine = world.node('gpu-2').instanceId;
  world.apply(deployment('bound', old));
  const pod = await until('the pod runs', () => runningOn(old));
  world.kubectl('label', '--overwrite', 'node', old, `${HEALTH}=UnschedulablePendingReplacement`);
  await world.repaired('gpu-2', 'replace');
  const node = world.kubeNode('gpu-2');
  assert.notEqual(node.metadata.name, old);
  assert.ok(evictions().some((e) => e.objectRef.name === pod.metadata.name));
  await until('the node of the old machine is gone', () => !world.kubeNodes().some((n) => n.metadata.name === old));
  assert.deepEqual(world.processes(join(world.dir, 'instances', machine)), []);
  assert.equal(processOf(pod.metadata.uid), undefined);
  world.kubectl('delete', 'deployment', 'bound', '--wait=false');
  world.apply(deployment('fresh', node.metadata.name));
  await until('a pod runs on the new node', () => runningOn(node.metadata.name));
});

test('nothing is left: no process, no mount, no bridge, no control group', { skip: why }, async () => {
  const links = () => spawnSync('ip', ['-o', 'link'], { encoding: 'utf8' }).stdout;
  const bridges = world.kubeNodes().map((n) => n.status.addresses.find((a) => a.type === 'InternalIP').address)
    .map((address) => new RegExp(` (hf[0-9a-f]{12})\\s+inet ${address}/`).exec(spawnSync('ip', ['-o', '-4', 'address'], { encoding: 'utf8' }).stdout)?.[1]);
  assert.ok(bridges.every(Boolean), JSON.stringify(bridges));
  assert.ok(world.processes().length > 0);
  await end();
  assert.deepEqual(world.processes(), []);
  assert.ok(!readFileSync('/proc/self/mountinfo', 'utf8').includes(world.dir));
  for (const bridge of bridges) assert.ok(!links().includes(bridge), bridge);
  const groups = bridges.map((bridge) => bridge.replace('hf', 'holdfast-'));
  for (const controller of readdirSync('/sys/fs/cgroup')) assert.deepEqual(readdirSync(join('/sys/fs/cgroup', controller)).filter((name) => groups.includes(name)), []);
});
