// A small world without Slurm: hpd and machines of the local provider, with real agents on them or with the test itself in
// an agent's place (Speaker). Everything lives in a directory of its own and is ended by pid.
import { spawn } from 'node:child_process';
import { appendFileSync, existsSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { agentService, hpdPath } from './programs.mjs';
import { until } from './world.mjs';

export { hpdPath };

const gone = (child) => new Promise((done) => (child.exitCode === null && child.signalCode === null ? child.once('exit', done) : done()));

// A seeded generator (mulberry32): a run can be told again.
export function random(seed) {
  return () => {
    seed = (seed + 0x6d2b79f5) | 0;
    let t = Math.imul(seed ^ (seed >>> 15), 1 | seed);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}

export class Local {
  // speakers: the machines run nothing but a sleep, and the test speaks for them. service: what they run instead of an agent.
  constructor({ speakers = false, service: other, config = {}, recovery = {}, state } = {}) {
    this.dir = mkdtempSync(join(tmpdir(), 'holdfast-bad.'));
    this.state = state ?? join(this.dir, 'state');
    this.instances = join(this.dir, 'instances');
    this.log = '';
    const service = speakers ? { name: 'idle', command: ['/bin/sleep', '3600'] } : (other ?? agentService);
    this.config = join(this.dir, 'hpd.yaml');
    // JSON is YAML
    writeFileSync(
      this.config,
      JSON.stringify({
        agents: { heartbeatInterval: '300ms', silentAfter: '4s', unreachableAfter: '10m' },
        providers: { local: { dir: this.instances, bootDelay: '50ms', services: [service] } },
        recovery: { observeInterval: '200ms', verifyQuiet: '300ms', retryMin: '50ms', retryMax: '300ms', breakerMin: 1000, ...recovery },
        ...config,
      }),
    );
  }

  spawnHpd() {
    const [program, ...before] = [...(this.wrapper ?? []), hpdPath];
    const child = spawn(program, [...before, '--state-dir', this.state, '--listen', `127.0.0.1:${this.port ?? 0}`, '--config', this.config], { stdio: ['ignore', 'ignore', 'pipe'] });
    child.text = '';
    child.stderr.on('data', (data) => {
      child.text += data;
      this.log += data;
    });
    return child;
  }

  async start() {
    this.hpd = this.spawnHpd();
    const { hpd } = this;
    await until('hpd listens', () => {
      if (hpd.exitCode !== null) throw new Error(hpd.text);
      return /listening on/.test(hpd.text);
    });
    this.port = Number(/listening on http:\/\/127\.0\.0\.1:(\d+)/.exec(hpd.text)[1]);
    this.token = readFileSync(join(this.state, 'admin.token'), 'utf8').trim();
    return this;
  }

  async stopHpd(signal = 'SIGTERM') {
    this.hpd.kill(signal);
    await gone(this.hpd);
    return this.hpd.exitCode;
  }

  // {status, body}; a network error is thrown.
  async call(method, path, body, { token = this.token, headers = {} } = {}) {
    const ask = () => fetch(`http://127.0.0.1:${this.port}${path}`, {
      method,
      headers: { ...(token ? { Authorization: `Bearer ${token}` } : {}), ...(body === undefined ? {} : { 'Content-Type': 'application/json' }), ...headers },
      body: body === undefined ? undefined : typeof body === 'string' ? body : JSON.stringify(body),
      signal: AbortSignal.timeout(30000),
    });
    // A kept connection may be one to the hpd that was killed: what only reads may ask again.
    const reply = await (method === 'GET' ? ask().catch(ask) : ask());
    const text = await reply.text();
    return { status: reply.status, body: /json/.test(reply.headers.get('content-type') ?? '') ? JSON.parse(text) : text };
  }

  async get(path) {
    const { status, body } = await this.call('GET', path);
    if (status !== 200) throw new Error(`GET ${path}: ${status} ${JSON.stringify(body)}`);
    return body;
  }

  // All pages.
  async list(path) {
    const items = [];
    for (let cursor = ''; ; ) {
      const page = await this.get(`${path}${path.includes('?') ? '&' : '?'}limit=500${cursor && `&cursor=${encodeURIComponent(cursor)}`}`);
      items.push(...page.items);
      if (!page.nextCursor) return items;
      cursor = page.nextCursor;
    }
  }

  async create(count, spec = {}) {
    const made = await this.call('POST', '/v1/clusters', { name: 'demo', orchestrator: 'none', instanceGroups: [{ name: 'w', instanceCount: count, provider: 'local' }], ...spec });
    if (made.status !== 201) throw new Error(JSON.stringify(made.body));
  }

  async ready(ms) {
    await until('all nodes ready', async () => (await this.list('/v1/clusters/demo/nodes')).every((n) => n.state === 'ready' && n.health === 'healthy'), ms);
  }

  node(name) {
    return this.get(`/v1/clusters/demo/nodes/${name}`);
  }

  verdicts(name) {
    return this.list(`/v1/clusters/demo/nodes/${name}/verdicts`);
  }

  events(kind, node) {
    return this.list(`/v1/events?cluster=demo${node ? `&node=${node}` : ''}`).then((all) => all.filter((e) => !kind || e.kind === kind));
  }

  repairs(node) {
    return this.list(`/v1/operations?cluster=demo&node=${node}`).then((all) => all.filter((o) => o.kind === 'reboot' || o.kind === 'replace'));
  }

  async kernel(name, ...lines) {
    const { instanceId } = await this.node(name);
    appendFileSync(join(this.instances, instanceId, 'kmsg'), lines.map((line) => `${line}\n`).join(''));
  }

  // What the machines themselves say: how often each went down for a reboot, by the key of the request.
  reboots() {
    return this.directories().flatMap((id) => (this.file(id, 'log/machine.log') ?? '').match(/rebooted for \S+/g) ?? []);
  }

  directories() {
    return existsSync(this.instances) ? readdirSync(this.instances) : [];
  }

  file(id, name) {
    const path = join(this.instances, id, name);
    return existsSync(path) ? readFileSync(path, 'utf8').trim() : undefined;
  }

  // The supervisors that live.
  machines() {
    return this.directories().filter((id) => {
      const pid = Number((this.file(id, 'machine.pid') ?? '0').split(' ')[0]);
      return pid > 1 && existsSync(`/proc/${pid}/cmdline`) && readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(id);
    });
  }

  // The one process of a machine's service whose command line has the word.
  processOf(id, word) {
    for (const pid of readdirSync('/proc').filter((p) => /^\d+$/.test(p))) {
      try {
        const line = readFileSync(`/proc/${pid}/cmdline`, 'utf8');
        if (line.includes(word) && line.includes(id) && !line.includes('machine\0')) return Number(pid);
      } catch {
        // it has ended
      }
    }
    return undefined;
  }

  async end() {
    if (this.hpd && this.hpd.exitCode === null && this.hpd.signalCode === null) {
      this.hpd.kill('SIGCONT');
      await this.stopHpd();
    }
    for (const id of this.machines()) {
      const pid = Number(this.file(id, 'machine.pid').split(' ')[0]);
      process.kill(pid, 'SIGTERM');
      await until(`machine ${id} off`, () => !existsSync(`/proc/${pid}`), 20000).catch(() => {});
    }
    if (process.env.KEEP) console.error(`kept: ${this.dir}`);
    else rmSync(this.dir, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
  }

  // Raw bytes, and all that comes back until the server closes or falls quiet.
  raw(bytes, quietMs = 1500) {
    return new Promise((done) => {
      const socket = connect(this.port, '127.0.0.1');
      let got = '';
      let timer;
      const end = (closed) => {
        clearTimeout(timer);
        socket.destroy();
        done({ text: got, closed, status: Number(/^HTTP\/1\.1 (\d+)/.exec(got)?.[1] ?? 0) });
      };
      timer = setTimeout(() => end(false), quietMs);
      socket.on('connect', () => socket.write(bytes));
      socket.on('data', (data) => {
        got += data.toString('latin1');
        clearTimeout(timer);
        timer = setTimeout(() => end(false), 200);
      });
      socket.on('close', () => end(true));
      socket.on('error', () => {});
    });
  }
}

// The test in the place of an instance's agent.
export class Speaker {
  constructor(world, node) {
    Object.assign(this, { world, name: node, seq: 0, offsetMs: 0 });
  }

  async enroll() {
    this.instanceId = (await until(`${this.name} has a machine`, async () => {
      const node = await this.world.node(this.name);
      return node.instanceId && this.world.file(node.instanceId, 'boot_id') && this.world.file(node.instanceId, 'token') && node;
    })).instanceId;
    this.bootId = this.world.file(this.instanceId, 'boot_id');
    const { status, body } = await this.world.call('POST', '/v1/agent/enroll', { node: this.name, instanceId: this.instanceId, bootId: this.bootId }, { token: this.world.file(this.instanceId, 'token') });
    if (status !== 200) throw new Error(JSON.stringify(body));
    this.credential = body.credential;
    return this;
  }

  beat(over = {}) {
    this.seq = Math.max(this.seq + 1, Date.now());
    return this.world.call('POST', '/v1/agent/heartbeat', { instanceId: this.instanceId, bootId: this.bootId, seq: this.seq, sentAtMs: Date.now() + this.offsetMs, checks: ['kmsg'], spooled: 0, ...over }, { token: this.credential });
  }

  verdict(key, over = {}) {
    const now = Date.now() + this.offsetMs;
    return { key, device: '0000:b9:00', source: 'kmsg', code: 'xid.31', rawLine: 'NVRM: Xid (PCI:0000:b9:00): 31, pid=1, name=x, MMU Fault', firstAtMs: now, lastAtMs: now, count: 1, severity: 'warn', tableVersion: 'test', ...over };
  }

  fatal(key, over = {}) {
    return this.verdict(key, { code: 'xid.79', severity: 'critical', rawLine: 'NVRM: Xid (PCI:0000:b9:00): 79, pid=<unknown>, name=<unknown>, GPU has fallen off the bus.', ...over });
  }

  report(verdicts, over = {}) {
    return this.world.call('POST', '/v1/agent/verdicts', { instanceId: this.instanceId, bootId: this.bootId, sentAtMs: Date.now() + this.offsetMs, verdicts, ...over }, { token: this.credential });
  }

  // Heartbeats from now on, of whatever boot the machine has; until stop().
  speak(everyMs = 250) {
    this.timer = setInterval(() => {
      this.bootId = this.world.file(this.instanceId, 'boot_id') ?? this.bootId;
      this.beat().catch(() => {});
    }, everyMs);
    return this;
  }

  stop() {
    clearInterval(this.timer);
  }
}
