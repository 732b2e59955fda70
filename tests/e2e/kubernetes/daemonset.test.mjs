// The agents as packaging/kubernetes has them: a DaemonSet on whole nodes, in the image that scripts/image packs. A line appended to a node's
// /var/log/messages, as HyperPod's own test does it, has the consequence that it has there, by the fault tables for who comes from HyperPod
// (docs/examples/policies/hyperpod.yaml): 74 replaces, 73 reboots, 31 does nothing.
// Not as in packaging: there is no kube-proxy, so the agents reach hpd by the host's network and not by its Service; they read
// /var/log/messages and not /dev/kmsg, which all nodes of one host share, as they share its
// boot id; and a node's instance id lies in its state directory beforehand.
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { appendFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { HEALTH } from '../lib/kubernetes.mjs';
import { NodesWorld, cannotRunNodes } from '../lib/kubernetes_nodes.mjs';
import { agentPath, hpctlPath, hpdPath, root } from '../lib/programs.mjs';
import { XID, until } from '../lib/world.mjs';

const IMAGE = 'holdfast.test/holdfast:1', NAMESPACE = 'aws-hyperpod';

class DaemonSetWorld extends NodesWorld {
  // No agent beside the kubelet. A node has the name of its slot, as the agents' pods report it.
  kubelet() {
    const { name, command } = super.kubelet();
    const words = command.map((word) => (word === 'hyperpod-{instance}' ? '{node}' : word));
    const prepare = 'mkdir -p "$1/node/var/lib/hp-agent" && { [ -e "$1/node/var/lib/hp-agent/instance-id" ] || echo "$2" >"$1/node/var/lib/hp-agent/instance-id"; } && shift 2 && exec "$@"';
    return { name, command: ['/bin/sh', '-c', prepare, 'node', '{dir}', '{instance}', ...words] };
  }

  async startHpd() {
    await super.startHpd();
    this.env.HPCTL_FINGERPRINT = /sha256:[^\s"]+/.exec(this.log)[0];
  }

  kubeNode(name) {
    return this.kubeNodes().find((n) => n.metadata.name === name);
  }

  packaged(...kinds) {
    const text = this.kubectl('kustomize', join(root, 'packaging/kubernetes'));
    const run = spawnSync(join(this.kubernetes, 'bin/kubectl'), ['--kubeconfig', join(this.kubernetes, 'admin.conf'), 'create', '--dry-run=client', '-o', 'json', '-f', '-'], { encoding: 'utf8', input: text });
    assert.equal(run.status, 0, run.stderr);
    // One object after another, without commas.
    const objects = run.stdout.trim().split(/\n(?=\{)/).map((one) => JSON.parse(one)).flatMap((o) => o.items ?? [o]);
    return objects.filter((o) => o.metadata.name === 'hp-agent' && kinds.includes(o.kind));
  }

  async createCluster() {
    const ready = super.createCluster(); // a token is of a cluster, and the nodes are ready when their agents are there
    ready.catch(() => {}); // awaited below
    const token = this.json('token', 'create', '--cluster', 'demo', '--enrollment', '--ttl', '24h').secret;
    const [account, set] = this.packaged('ServiceAccount', 'DaemonSet').sort((a, b) => (a.kind < b.kind ? 1 : -1));
    const pod = set.spec.template.spec, [container] = pod.containers;
    pod.hostNetwork = true;
    Object.assign(container, { image: IMAGE, imagePullPolicy: 'IfNotPresent' });
    container.command = container.command.map((word) => word.replace(/^--server=.*/, `--server=https://127.0.0.1:${this.port}`).replace(/^--kernel-log=.*/, '--kernel-log=/var/log/messages'));
    container.volumeMounts.find((m) => m.name === 'kmsg').mountPath = '/var/log/messages';
    pod.volumes.find((v) => v.name === 'kmsg').hostPath.path = '/var/log/messages';
    container.command.push('--checks=none', '--boot-id-file=/etc/boot_id'); // a container's /proc has the host's, which no reboot of a node changes
    container.volumeMounts.push({ name: 'boot-id', mountPath: '/etc/boot_id', readOnly: true });
    pod.volumes.push({ name: 'boot-id', hostPath: { path: '/proc/sys/kernel/random/boot_id', type: 'File' } });
    this.apply({ apiVersion: 'v1', kind: 'Secret', metadata: { name: 'hp-agent', namespace: NAMESPACE }, stringData: { token, fingerprint: this.env.HPCTL_FINGERPRINT } }, account, set);
    await ready;
  }

  messages(name, line) {
    appendFileSync(join(this.dir, 'instances', this.node(name).instanceId, 'node/var/log/messages'), `Jan  1 00:00:00 ${name} kernel: ${line}\n`);
  }
}

const why = cannotRunNodes();
let world;
before(async () => {
  if (why) return;
  world = new DaemonSetWorld({ listen: '[::]:0', config: { faultTables: join(root, 'docs/examples/policies/hyperpod.yaml') }, agent: { name: 'none', command: ['/bin/sleep', 'infinity'] } });
  const start = world.start();
  world.pack(IMAGE, 'holdfast', hpdPath, agentPath, hpctlPath);
  await start;
}, { timeout: 600000 });
after(() => world?.end());

const agents = () => JSON.parse(world.kubectl('get', 'pods', '-n', NAMESPACE, '-l', 'app.kubernetes.io/name=hp-agent', '-o', 'json')).items;
const repairs = (name) => world.operations(name).filter((o) => o.kind === 'reboot' || o.kind === 'replace');

test('an agent runs on each node as a pod, and has enrolled', { skip: why }, () => {
  const running = agents().filter((p) => p.status.phase === 'Running');
  assert.deepEqual(running.map((p) => p.spec.nodeName).sort(), ['gpu-1', 'gpu-2', 'gpu-3']);
  for (const pod of running) assert.match(pod.status.containerStatuses[0].containerID, /^containerd:/);
});

test('one Xid 31 in /var/log/messages costs no node', { skip: why }, async () => {
  world.messages('gpu-3', XID(31, 'MMU Fault'));
  await until('it is decided', () => world.events({ node: 'gpu-3', kind: 'decision' }).some((e) => e.message.includes('Xid 31 ')));
  assert.deepEqual(repairs('gpu-3'), []);
  assert.equal(world.health('gpu-3'), 'Schedulable');
});

const agentOf = (node) => agents().filter((p) => p.spec.nodeName === node && p.status.phase === 'Running' && !p.metadata.deletionTimestamp);
// The label and the taint may stand for less than a look takes, so the node is watched from before the line is written.
async function tainted(node, label, line) {
  const watch = spawn(join(world.kubernetes, 'bin/kubectl'), ['--kubeconfig', join(world.kubernetes, 'admin.conf'), 'get', 'nodes', '--watch', '--no-headers', '-o',
    `custom-columns=NAME:.metadata.name,HEALTH:.metadata.labels.${HEALTH.replaceAll('.', '\\.')},TAINTS:.spec.taints[*].key`]);
  let seen = '';
  watch.stdout.on('data', (data) => { seen += data; });
  try {
    await until('it is watched', () => new RegExp(`^${node} +Schedulable `, 'm').test(seen));
    world.messages(node, line);
    await until('its label and its taint say so', () => new RegExp(`^${node} +${label} .*${HEALTH}`, 'm').test(seen));
  } finally {
    watch.kill();
  }
}

test('Xid 73 reboots the node under the taint, and its agent comes with it', { skip: why }, async () => {
  const { bootID } = world.kubeNode('gpu-1').status.nodeInfo;
  await tainted('gpu-1', 'UnschedulablePendingReboot', XID(73, 'NVENC2 Error'));
  await world.repaired('gpu-1', 'reboot');
  await until('kubelet reports the new boot', () => world.kubeNode('gpu-1').status.nodeInfo.bootID !== bootID);
  assert.equal(agentOf('gpu-1').length, 1);
  assert.deepEqual(repairs('gpu-1').map((o) => o.kind), ['reboot']);
});

const NVLINK = 'NVRM: Xid (PCI:0000:b9:00): 74, pid=<unknown>, name=<unknown>, NVLink: fatal error detected on link 6(0x10000, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0)';
test('Xid 74 replaces the machine: another one joins as the node, its agent enrols, and it is checked', { skip: why }, async () => {
  const { uid } = world.kubeNode('gpu-2').metadata, machine = world.node('gpu-2').instanceId;
  await tainted('gpu-2', 'UnschedulablePendingReplacement', NVLINK);
  await world.repaired('gpu-2', 'replace');
  assert.notEqual(world.node('gpu-2').instanceId, machine);
  assert.notEqual(world.kubeNode('gpu-2').metadata.uid, uid);
  assert.equal(agentOf('gpu-2').length, 1);
  assert.deepEqual(repairs('gpu-2').map((o) => o.kind), ['replace']);
});
