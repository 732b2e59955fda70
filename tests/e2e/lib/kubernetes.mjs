// A whole small world on Kubernetes for one test file: a control plane of its own (tests/support/kubernetes-lab), hpd, and machines of the
// local provider, each with a real hp-agent beside a node of that cluster. A machine's node is named after the machine, as HyperPod's are.
import { spawnSync } from 'node:child_process';
import { copyFileSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { agentService, root } from './programs.mjs';
import { World, until } from './world.mjs';

const lab = join(root, 'tests/support/kubernetes-lab');
const standIn = join(root, 'tests/support/kubernetes-node');

const START_MS = 240000; // of nodes that begin all at once on a machine with other work

export const HYPERPOD = 'sagemaker.amazonaws.com/';
export const HEALTH = `${HYPERPOD}node-health-status`;

// Why these tests cannot run now; undefined: they can. Nothing is built here: "tests/run-kubernetes build" does that.
export function cannot() {
  if (spawnSync('etcd', ['--version']).error) return 'etcd is not installed';
  const look = spawnSync(join(root, 'scripts/kubernetes-binaries'), ['--look'], { encoding: 'utf8' });
  return look.status === 0 ? undefined : look.stderr.trim().split('\n').at(-1);
}

// Likewise for what needs Kueue.
export function cannotGovern() {
  const look = spawnSync(join(root, 'scripts/kueue-binaries'), ['--look'], { encoding: 'utf8' });
  return cannot() ?? (look.status === 0 ? undefined : look.stderr.trim().split('\n').at(-1));
}

export class KubernetesWorld extends World {
  constructor(options = {}) {
    super(options);
    this.kubernetes = join(this.dir, 'kubernetes');
    this.nodes = options.nodes ?? 3;
  }

  kubernetesLab(verb, ...args) {
    const run = spawnSync(lab, [verb, this.kubernetes, ...args], { encoding: 'utf8' });
    if (run.status !== 0) throw new Error(`kubernetes-lab ${verb}: ${run.stderr}${run.stdout}`);
    return run.stdout.trim();
  }

  // To one of the control plane's processes.
  signal(name, signal) {
    process.kill(Number(this.kubernetesLab('pid', name)), signal);
  }

  async start() {
    this.kubernetesLab('start');
    this.env = { HOME: this.dir };
    if (this.options.inCluster) this.moveIn();
    this.writeConfig();
    await this.startHpd();
    if (this.options.cluster !== false) await this.createCluster();
    return this;
  }

  // hpd by the service account of packaging/kubernetes, as its pod would have it. The agents' DaemonSet is real; its pods run nothing.
  moveIn() {
    const account = (this.serviceAccount = join(this.dir, 'serviceaccount'));
    this.kubectl('apply', '-k', join(root, 'packaging/kubernetes'));
    mkdirSync(account);
    copyFileSync(join(this.kubernetes, 'pki/ca.crt'), join(account, 'ca.crt'));
    this.rotateToken();
    Object.assign(this.env, { KUBERNETES_SERVICE_HOST: '127.0.0.1', KUBERNETES_SERVICE_PORT: readFileSync(join(this.kubernetes, 'ports'), 'utf8').trim().split(/\s+/)[2] });
    this.options.scheduler = { kubeconfig: undefined, serviceAccountDir: account, ...this.options.scheduler };
  }

  rotateToken() {
    const token = this.kubectl('create', 'token', 'hpd', '-n', 'aws-hyperpod');
    writeFileSync(join(this.serviceAccount, 'token'), token, { mode: 0o600 });
  }

  kubelet() {
    return { name: 'kubelet', command: this.options.kubelet ?? [standIn, this.kubernetes, 'hyperpod-{instance}', '--label', 'holdfast/node={node}', '--label', `${HYPERPOD}instance-group-name=workers`, '--provider-id', 'aws:///lab-1a/{instance}', '--taint', `${HEALTH}=Unschedulable:NoSchedule`] };
  }

  scheduler() {
    return { name: 'kube', kind: 'kubernetes', kubeconfig: join(this.kubernetes, 'holdfast.conf'), timeout: '10s', jobSnapshotInterval: '1s' };
  }

  writeConfig() {
    const config = {
      agents: { heartbeatInterval: '1s', silentAfter: '5s', unreachableAfter: '15s' },
      schedulers: [{ ...this.scheduler(), ...this.options.scheduler }],
      providers: { local: { dir: join(this.dir, 'instances'), bootDelay: '500ms', services: [this.kubelet(), this.options.agent ?? agentService] } },
      recovery: { observeInterval: '500ms', verifyQuiet: '1s', evictDeadline: '6s', drainDeadline: '2s', retryMin: '100ms', retryMax: '1s', ...this.options.recovery },
      ...this.options.config,
    };
    this.config = join(this.dir, 'hpd.yaml');
    writeFileSync(this.config, JSON.stringify(config));
  }

  // How each of our nodes stands in Kubernetes once nobody holds it.
  async createCluster(spec = {}) {
    const file = join(this.dir, 'cluster.yaml');
    writeFileSync(file, JSON.stringify({ name: 'demo', nodeRecovery: 'Automatic', instanceGroups: [{ name: 'workers', instanceCount: this.nodes, nodeNames: `gpu-[1-${this.nodes}]` }], ...spec }));
    const made = this.hpctl('cluster', 'create', '-f', file);
    if (made.code !== 0) throw new Error(made.err);
    await until('all nodes ready', () => this.json('node', 'list').every((n) => n.state === 'ready' && n.health === 'healthy'), START_MS);
    await until('all nodes Schedulable', () => this.kubeNodes().filter((n) => n.metadata.labels[HEALTH] === 'Schedulable' && !n.spec.unschedulable).length === this.nodes, START_MS);
  }

  kubectlRun(...args) {
    const run = spawnSync(join(this.kubernetes, 'bin/kubectl'), ['--kubeconfig', join(this.kubernetes, 'admin.conf'), ...args], { encoding: 'utf8', input: this.input });
    return { code: run.status, out: run.stdout, err: run.stderr };
  }

  kubectl(...args) {
    const run = this.kubectlRun(...args);
    if (run.code !== 0) throw new Error(`kubectl ${args.join(' ')}: ${run.err}`);
    return run.out.trim();
  }

  apply(...objects) {
    this.input = JSON.stringify({ apiVersion: 'v1', kind: 'List', items: objects });
    try {
      return this.kubectl('apply', '-f', '-');
    } finally {
      delete this.input;
    }
  }

  kubeNodes() {
    return JSON.parse(this.kubectl('get', 'nodes', '-o', 'json')).items;
  }

  // The node of a slot, as Kubernetes has it now; the machine that fills it, where there are two for a while.
  kubeNode(name) {
    const { instanceId } = this.node(name);
    return this.kubeNodes().find((n) => n.metadata.name === `hyperpod-${instanceId}`);
  }

  health(name) {
    return this.kubeNode(name)?.metadata.labels[HEALTH];
  }

  isSchedulable(name) {
    const node = this.kubeNode(name);
    return node?.metadata.labels[HEALTH] === 'Schedulable' && !node.spec.unschedulable && !(node.spec.taints ?? []).some((t) => t.key === HEALTH);
  }

  async repaired(node, kind, before = 0) {
    await until(`${node}: ${kind} done`, () => {
      const done = this.operations(node).filter((o) => o.kind === kind && o.state === 'succeeded');
      return done.length > before && this.node(node).state === 'ready';
    }, 120000);
    await until(`${node} Schedulable in Kubernetes`, () => this.isSchedulable(node));
  }

  async end() {
    const ended = super.end.bind(this);
    const keep = process.env.KEEP;
    process.env.KEEP = 'yes'; // the directory is needed to stop the control plane
    try {
      await ended();
    } finally {
      if (keep === undefined) delete process.env.KEEP;
    }
    if (existsSync(this.kubernetes)) this.kubernetesLab('stop');
    if (!keep) rmSync(this.dir, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
  }
}
