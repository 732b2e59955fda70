// hprun as a child of a test: its output, its requests, and what is left of it. And a small operator, as HyperPod's, for some of them.
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { hprunPath } from './programs.mjs';

export const PYTHON = '/usr/bin/python3'; // Debian's, which has PyTorch: the one that PATH has may be another

export const sleep = (ms) => new Promise((done) => setTimeout(done, ms));

export async function until(what, check, withinMs = 60000) {
  for (const end = Date.now() + withinMs; ; ) {
    const value = await check();
    if (value) return value;
    if (Date.now() > end) throw new Error(`timed out: ${what}`);
    await sleep(50);
  }
}

export const freePort = () => new Promise((done) => {
  const server = createServer();
  server.listen(0, '127.0.0.1', () => {
    const { port } = server.address();
    server.close(() => done(port));
  });
});

export class Place {
  constructor() {
    this.dir = mkdtempSync(join(tmpdir(), 'hprun-test-'));
    this.runs = [];
  }
  path(name) {
    return join(this.dir, name);
  }
  start(args, options = {}) {
    const run = new Run(this, args, options);
    this.runs.push(run);
    return run;
  }
  async end() {
    for (const run of this.runs.filter((r) => r.code === undefined)) run.child.kill('SIGKILL');
    await Promise.race([Promise.all(this.runs.map((run) => run.over)), sleep(5000)]);
    rmSync(this.dir, { recursive: true, force: true });
  }
}

export class Run {
  constructor(place, args, { env = {}, as = hprunPath } = {}) {
    this.out = this.err = '';
    this.child = spawn(as, args, {
      env: { ...process.env, PYTHON_EXEC: PYTHON, GLOO_SOCKET_IFNAME: 'lo', TMPDIR: place.dir, ...env }, stdio: ['ignore', 'pipe', 'pipe'],
    });
    this.child.stdout.on('data', (data) => (this.out += data));
    this.child.stderr.on('data', (data) => (this.err += data));
    this.over = new Promise((done) => this.child.on('close', (code, signal) => done((this.code = code ?? signal))));
  }
  async listening() {
    const found = await until('hprun listens', () => /listening .*port=(\d+)/.exec(this.err) ?? (this.code !== undefined && [this.err, 0]));
    this.url = `http://127.0.0.1:${found[1]}`;
    return this;
  }
  async ask(path, body, headers = {}) {
    const reply = await fetch(this.url + path, { method: body === undefined ? 'GET' : 'POST', body: body && JSON.stringify(body), headers: { 'content-type': 'application/json', ...headers } });
    const text = await reply.text();
    return { status: reply.status, body: text === '' ? null : JSON.parse(text) };
  }
  async status() {
    return (await this.ask('/status')).body;
  }
  async state(wanted, withinMs) {
    let last;
    try {
      return await until(`state ${wanted}`, async () => (last = await this.status()).status === wanted && last, withinMs);
    } catch (error) {
      throw new Error(`${error.message}; it is ${JSON.stringify(last)}\n${this.err}\n${this.out}`);
    }
  }
}

// Every process whose command begins with this text, after its directory.
export function processesWith(text, readdir) {
  return readdir('/proc').filter((name) => /^\d+$/.test(name)).filter((pid) => {
    try {
      return readFileSync(`/proc/${pid}/cmdline`, 'utf8').replace(/^[^\0]*\//, '').startsWith(text);
    } catch {
      return false;
    }
  });
}

// All agents of a job: starts them together, watches them, and on a fault stops all and starts them again, at most so often.
export class Operator {
  constructor(agents, { rules, port, restartsMax = 3, progress } = {}) {
    Object.assign(this, { agents, rules, port, restartsMax, progress, faults: [], restarts: 0 });
  }
  async start() {
    const place = (rank) => ({
      rank, nnodes: this.agents.length, faultCount: this.restarts, master_addr: '127.0.0.1', master_port: this.port, ipVersion: `v${this.restarts}`,
      rankIps: this.agents.map((_, i) => ({ rank: i, ip: `127.0.0.${i + 1}` })), log_monitoring_configuration: this.rules, ...(this.progress && { progress: this.progress }),
    });
    const replies = await Promise.all(this.agents.map((agent, rank) => agent.ask('/start', place(rank))));
    for (const reply of replies) if (reply.status !== 200) throw new Error(`/start: ${JSON.stringify(reply)}`);
  }
  async restart() {
    const began = Date.now();
    await Promise.all(this.agents.map((agent) => agent.ask('/stop', {})));
    await Promise.all(this.agents.map((agent) => agent.state('ready', 30000)));
    this.restarts++;
    await this.start();
    this.restartMs = Date.now() - began;
  }
  // Until all have completed; false when it gave up.
  async run() {
    for (;;) {
      const all = await Promise.all(this.agents.map((agent) => agent.status()));
      const faulted = all.filter((one) => one.status === 'faulted');
      if (all.every((one) => one.status === 'completed')) return true;
      if (faulted.length > 0) {
        // The first one is the cause; what follows from it on other nodes comes later.
        faulted.sort((a, b) => a.transitions.FAULTED.localeCompare(b.transitions.FAULTED));
        this.faults.push({ reason: faulted[0].reason, message: faulted[0].message, rank: faulted[0].assigned_rank });
        if (this.restarts >= this.restartsMax) return false;
        await this.restart();
      }
      await sleep(100);
    }
  }
}
