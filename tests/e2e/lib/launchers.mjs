// What a kubelet does for the pods of training jobs, as far as these tests need it. The lab's nodes have no kubelet: tests/support/kubernetes-node
// calls a pod Running and takes it away when it is deleted. This starts a real hprun for each such pod, at an address of its own in 127.0.0.0/8, by
// the pod's own command, environment and Secret, tells the API server that address and how it ended, and ends the process with its pod.
import { spawn } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import https from 'node:https';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

export class Launchers {
  constructor(world) {
    this.world = world;
    this.lab = world.kubernetes;
    this.pods = new Map(); // uid → { name, address, child, out }
    this.all = [];
    this.held = new Set(); // names of pods that are not begun, as if their image were still being pulled
    this.agent = new https.Agent({ keepAlive: true });
    this.port = Number(readFileSync(join(this.lab, 'ports'), 'utf8').split(/\s+/)[2]);
    this.ca = readFileSync(join(this.lab, 'pki/ca.crt'));
    this.kubelet = https.createServer({ cert: readFileSync(join(this.lab, 'pki/server.crt')), key: readFileSync(join(this.lab, 'pki/server.key')) },
      (request, reply) => this.log(request, reply)).listen(0, '127.0.0.1');
    this.ended = this.run();
  }

  // What a kubelet answers the API server that is asked for a pod's log: /containerLogs/SPACE/POD/CONTAINER?tailLines=N
  log(request, reply) {
    const url = new URL(request.url, 'https://kubelet');
    const [, , , name] = url.pathname.split('/');
    const lines = (this.of(name)?.out ?? '').split('\n').filter(Boolean).slice(-Number(url.searchParams.get('tailLines') ?? 1e6));
    reply.writeHead(url.searchParams.get('previous') === 'true' ? 400 : 200, { 'content-type': 'text/plain' });
    reply.end(url.searchParams.get('previous') === 'true' ? `previous terminated container in pod "${name}" not found` : lines.map((l) => `${l}\n`).join(''));
  }

  // The nodes' kubelets are at this one's port.
  async offerLogs() {
    const { body } = await this.ask('GET', '/api/v1/nodes');
    const daemonEndpoints = { kubeletEndpoint: { Port: this.kubelet.address().port } };
    for (const { metadata } of body.items) await this.ask('PATCH', `/api/v1/nodes/${metadata.name}/status`, { status: { daemonEndpoints } }, 'application/strategic-merge-patch+json');
  }

  ask(method, path, body, type = 'application/json') {
    return new Promise((done, fail) => {
      const text = body && JSON.stringify(body);
      const request = https.request({ host: '127.0.0.1', port: this.port, method, path, agent: this.agent, ca: this.ca, timeout: 20000,
        headers: { authorization: 'Bearer admin-token', ...(text && { 'content-type': type, 'content-length': Buffer.byteLength(text) }) } }, (reply) => {
        let answer = '';
        reply.on('data', (d) => (answer += d));
        reply.on('end', () => done({ status: reply.statusCode, body: answer.startsWith('{') ? JSON.parse(answer) : answer }));
      });
      request.on('timeout', () => request.destroy(new Error('timeout')));
      request.on('error', fail);
      request.end(text);
    });
  }

  async begin(pod) {
    const { uid, name, namespace } = pod.metadata;
    const number = this.all.length + 1;
    const address = `127.${20 + (process.pid % 200)}.${number >> 8}.${number & 255}`;
    const dir = join(this.world.dir, 'pods', uid);
    mkdirSync(dir, { recursive: true });
    const container = pod.spec.containers[0];
    const env = Object.fromEntries(container.env.map((e) => [e.name, e.value]));
    const mount = container.volumeMounts.find((m) => m.name === 'holdfast-launcher');
    const secret = (await this.ask('GET', `/api/v1/namespaces/${namespace}/secrets/${pod.spec.volumes.find((v) => v.name === mount.name).secret.secretName}`)).body;
    for (const [file, value] of Object.entries(secret.data)) writeFileSync(join(dir, file), Buffer.from(value, 'base64'));
    const entry = { name, uid, address, node: pod.spec.nodeName, out: '', err: '' };
    env.PET_SERVER_TOKEN_FILE = env.PET_SERVER_TOKEN_FILE.replace(mount.mountPath, dir);
    entry.token = readFileSync(env.PET_SERVER_TOKEN_FILE, 'utf8');
    entry.child = spawn(container.command[0], [...container.command.slice(1), ...(container.args ?? [])], {
      env: { ...process.env, PET_SERVER_HOST: address, PET_RESOURCE_CONFIG_DIR: dir, TMPDIR: dir, ...env }, stdio: ['ignore', 'pipe', 'pipe'],
    });
    entry.child.stdout.on('data', (d) => (entry.out += d));
    entry.child.stderr.on('data', (d) => (entry.err += d));
    const statusOf = `/api/v1/namespaces/${namespace}/pods/${name}/status`;
    entry.over = new Promise((done) => entry.child.on('close', done)).then((code) => {
      if (this.stopped || !this.pods.has(uid)) return undefined;
      const terminated = { exitCode: code ?? 137, reason: code === 0 ? 'Completed' : 'Error' };
      const status = { phase: code === 0 ? 'Succeeded' : 'Failed', containerStatuses: [{ name: container.name, image: container.image, imageID: '', ready: false, restartCount: 0, state: { terminated } }] };
      return this.ask('PATCH', statusOf, { metadata: { uid }, status }, 'application/strategic-merge-patch+json').catch(() => undefined);
    });
    this.pods.set(uid, entry);
    this.all.push(entry);
    const status = { podIP: address, podIPs: [{ ip: address }] };
    await this.ask('PATCH', statusOf, { status }, 'application/strategic-merge-patch+json');
  }

  async turn() {
    const { body } = await this.ask('GET', '/api/v1/pods?labelSelector=holdfast%2Fjob');
    const there = new Set();
    for (const pod of body.items ?? []) {
      there.add(pod.metadata.uid);
      if (pod.spec.nodeName && pod.status.phase === 'Running' && !pod.metadata.deletionTimestamp && !this.pods.has(pod.metadata.uid) && !this.held.has(pod.metadata.name)) await this.begin(pod);
    }
    for (const [uid, entry] of this.pods)
      if (!there.has(uid)) {
        entry.child.kill('SIGKILL'); // its workers go with it
        this.pods.delete(uid);
      }
  }

  async run() {
    while (!this.stopped) {
      await this.turn().catch((error) => (this.trouble = error));
      await sleep(150);
    }
  }

  // The one that is there now.
  of(name) {
    return [...this.pods.values()].find((entry) => entry.name === name);
  }

  async end() {
    this.stopped = true;
    await this.ended;
    for (const entry of this.all) entry.child.kill('SIGTERM');
    const left = Promise.all(this.all.map((entry) => entry.over));
    await Promise.race([left, sleep(5000)]);
    for (const entry of this.all) entry.child.kill('SIGKILL');
    this.agent.destroy();
    this.kubelet.closeAllConnections();
    this.kubelet.close();
  }
}
