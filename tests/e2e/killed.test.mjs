// A real hp-agent, killed again and again (SIGKILL, at any moment) while lines come, and a server that loses replies: each line is
// told, none counts twice, and each fault that stood in the log once is one verdict. On a file, and on this machine's own
// /dev/kmsg where that can be written. HOLDFAST_KILLS says how many kills (200).
import { test } from 'node:test';
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { accessSync, appendFileSync, constants, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { agentPath } from './lib/programs.mjs';

const kills = Number(process.env.HOLDFAST_KILLS ?? 200);
const deadlineMs = 60_000;

// The server's part of the protocol: a verdict's key is its row, the largest count stays.
class Server {
  rows = new Map();
  spooled = null;
  beats = 0;
  noisy = true;
  http = createServer((request, response) => {
    let body = '';
    request.on('data', (part) => { body += part; });
    request.on('end', () => this.answer(request.url, JSON.parse(body), response));
  });

  async start() {
    this.http.listen(0, '127.0.0.1');
    await once(this.http, 'listening');
    return `http://127.0.0.1:${this.http.address().port}`;
  }

  answer(url, body, response) {
    const refused = this.noisy && Math.random() < 0.1;
    if (!refused) this.take(url, body);
    if (this.noisy && Math.random() < 0.1) return response.destroy(); // stored, and nobody hears of it
    if (refused) return response.writeHead(503).end('{}');
    const enrolled = { nodeId: 1, credential: 'hfn_1.x', heartbeatIntervalMs: 100 };
    return response.end(JSON.stringify(url.endsWith('/enroll') ? enrolled : {}));
  }

  take(url, body) {
    if (url.endsWith('/heartbeat')) {
      this.beats += 1;
      this.spooled = body.spooled;
    }
    for (const { key, code, device, count } of body.verdicts ?? []) {
      const row = this.rows.get(key);
      this.rows.set(key, { fault: `${code} ${device}`, count: Math.max(count, row?.count ?? 0) });
    }
  }

  // fault → [verdicts, lines]
  told(wanted) {
    const sums = new Map();
    for (const { fault, count } of this.rows.values()) {
      if (!wanted.test(fault)) continue;
      const [verdicts, lines] = sums.get(fault) ?? [0, 0];
      sums.set(fault, [verdicts + 1, lines + count]);
    }
    return sums;
  }
}

// Writes lines until it is stopped, and knows what it wrote: some faults come once, one comes all the time.
class Writer {
  lines = new Map();
  stopped = false;

  constructor(put, once, often, pauseMs) {
    Object.assign(this, { put, once, often, pauseMs });
  }

  fault([name, line]) {
    this.put(line);
    this.lines.set(name, (this.lines.get(name) ?? 0) + 1);
  }

  async run() {
    for (let i = 0; !this.stopped; i++) {
      if (i % 8 === 0) this.fault(this.once(i / 8));
      else if (i % 2 === 0) this.fault(this.often);
      else this.put(`holdfast test: noise ${i}`);
      await sleep(Math.random() * this.pauseMs);
    }
  }
}

const campaign = async (t, { log, put, once: single, often, wanted, pauseMs, count }) => {
  const dir = mkdtempSync(join(tmpdir(), 'holdfast-killed-'));
  const server = new Server(), url = await server.start(), token = join(dir, 'token');
  t.after(() => { server.http.close(); server.http.closeAllConnections(); rmSync(dir, { recursive: true, force: true }); });
  writeFileSync(token, 'hfe_token\n');
  let errors = '';
  const agent = () => {
    const child = spawn(agentPath, ['--server', url, '--state-dir', join(dir, 'agent'), '--node', 'n1', '--instance-id', 'i-0123456789abcdef0',
      '--token-file', token, '--kernel-log', log(dir), '--checks', 'none', '--settings', '/dev/null', '--allow-inject', '--log-level', 'error'],
    { stdio: ['ignore', 'ignore', 'pipe'] });
    child.stderr.on('data', (data) => { errors += data; });
    return child;
  };
  const end = async (child, signal) => { child.kill(signal); await once(child, 'exit'); };
  const writer = new Writer((line) => put(dir, line), single, often, pauseMs);
  const first = agent(); // what stood in the log before is not ours
  for (const until = Date.now() + deadlineMs; server.beats < 3; await sleep(10)) assert.ok(Date.now() < until, `no heartbeat: ${errors}`);
  await end(first, 'SIGKILL');

  const began = Date.now(), written = writer.run();
  for (let i = 0; i < count; i++) {
    const child = agent();
    await sleep(5 + Math.random() * (i % 10 === 0 ? 600 : 120));
    await end(child, 'SIGKILL');
  }
  writer.stopped = true;
  await written;
  const minutes = Math.ceil((Date.now() - began) / 60_000);
  server.noisy = false;
  await finish(agent, end, server, writer, wanted);
  const told = server.told(wanted), total = [...writer.lines.values()].reduce((sum, lines) => sum + lines, 0);
  t.diagnostic(`${count} kills, ${total} lines of ${writer.lines.size} faults, ${server.rows.size} verdicts`);
  for (const [fault, lines] of writer.lines) {
    const [verdicts, counted] = told.get(fault) ?? [0, 0];
    assert.equal(counted, lines, `${fault}: ${lines} lines were written, ${counted} were counted`);
    const most = lines === 1 ? 1 : minutes + 1; // a fault that goes on is a new verdict each minute
    assert.ok(verdicts <= most, `${fault}: ${verdicts} verdicts in ${minutes} min`);
  }
  assert.equal(told.size, writer.lines.size);
  assert.doesNotMatch(errors, /dropped|makes no sense|ERROR|Sanitizer/);
};

// What still grows is told when an agent ends well; the next one delivers it.
const finish = async (agent, end, server, writer, wanted) => {
  const sum = (values) => [...values].reduce((all, one) => all + one, 0);
  for (const until = Date.now() + deadlineMs; ;) {
    const child = agent(), beats = server.beats;
    while (server.beats < beats + 5 || server.spooled > 0) {
      assert.ok(Date.now() < until, 'not delivered');
      await sleep(20);
    }
    await end(child, 'SIGTERM');
    if (sum([...server.told(wanted).values()].map(([, lines]) => lines)) >= sum(writer.lines.values())) return;
    if (Date.now() > until) return; // the comparison says what is missing
  }
};

const hex = (n) => n.toString(16).padStart(2, '0');

test('on a file', { timeout: 600_000 }, (t) => campaign(t, {
  log: (dir) => { const path = join(dir, 'kmsg'); appendFileSync(path, ''); return path; },
  put: (dir, line) => appendFileSync(join(dir, 'kmsg'), `${line}\n`),
  once: (n) => [`xid.79 00${hex(n >> 8)}:${hex(n & 255)}:00`, `NVRM: Xid (PCI:00${hex(n >> 8)}:${hex(n & 255)}:00): 79, GPU has fallen off the bus.`],
  often: ['xid.95 7777:01:00', 'NVRM: Xid (PCI:7777:01:00): 95, Uncontained memory error.'],
  wanted: /^xid\./,
  pauseMs: 12,
  count: kills,
}));

const canWrite = () => {
  try {
    accessSync('/dev/kmsg', constants.W_OK | constants.R_OK);
    appendFileSync('/dev/kmsg', '<7>holdfast test: begins\n');
    readFileSync('/proc/sys/kernel/random/boot_id');
    return true;
  } catch {
    return false;
  }
};

// Of a pattern that alarms nobody who watches this machine for real.
test('on the kernel log of this machine', { timeout: 600_000, skip: canWrite() ? false : '/dev/kmsg cannot be written here' }, (t) => campaign(t, {
  log: () => '/dev/kmsg',
  put: (_, line) => appendFileSync('/dev/kmsg', `<7>${line}\n`),
  once: (n) => [`kernel.net.tx-timeout hftest${process.pid}n${n}`, `NETDEV WATCHDOG: hftest${process.pid}n${n} (test): a test of holdfast`],
  often: [`kernel.net.tx-timeout hftest${process.pid}`, `NETDEV WATCHDOG: hftest${process.pid} (test): a test of holdfast`],
  wanted: new RegExp(`^kernel\\.net\\.tx-timeout hftest${process.pid}`),
  pauseMs: 60,
  count: Math.ceil(kills / 4),
}));
