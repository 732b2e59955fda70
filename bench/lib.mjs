// What the figures share: starting servers, driving them, reading what they cost, printing.
import { spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

export const build = resolve(process.env.BUILD ?? 'build');
export const rounds = Number(process.env.ROUNDS ?? 3);
export const seconds = Number(process.env.SECONDS_EACH ?? 4);
export const dir = mkdtempSync(join(tmpdir(), 'holdfast-bench.'));
const running = new Set();

export const median = (list) => [...list].sort((a, b) => a - b)[Math.floor(list.length / 2)];
export const quantile = (list, p) => [...list].sort((a, b) => a - b)[Math.min(list.length - 1, Math.floor(list.length * p))];
export const number = (n) => Math.round(n).toLocaleString('en-US');

const rows = [];
/** A line of the result: what, our figure, what stands beside it. */
export function say(what, figure, beside = '') {
  rows.push([what, figure, beside]);
  console.log(`${what.padEnd(66)} ${figure.padEnd(26)} ${beside}`);
}
export const table = () =>
  ['| what | figure | beside |', '| --- | --- | --- |', ...rows.map((row) => `| ${row.join(' | ')} |`)].join('\n') + '\n';

// --- processes ---------------------------------------------------------------------------------------------

export function start(command, args, options = {}) {
  const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'], ...options });
  child.text = '';
  child.out = '';
  child.stdout.on('data', (d) => ((child.text += d), (child.out += d)));
  child.stderr.on('data', (d) => (child.text += d));
  running.add(child);
  child.ended = new Promise((done) => child.on('exit', (code) => (running.delete(child), done(code))));
  return child;
}

export async function stop(child) {
  child.kill('SIGTERM');
  const late = setTimeout(() => child.kill('SIGKILL'), 10000);
  await child.ended;
  clearTimeout(late);
}

export async function cleanUp() {
  for (const child of [...running]) await stop(child);
  if (!process.env.KEEP) rmSync(dir, { recursive: true, force: true });
}

export async function until(what, check, ms = 60000, every = 50) {
  for (const end = Date.now() + ms; Date.now() < end; await sleep(every)) if (await check()) return;
  throw new Error(`timed out: ${what}`);
}

export const freePort = () =>
  new Promise((done) => {
    const server = createServer();
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address();
      server.close(() => done(port));
    });
  });

export const answers = (url, options) => () => fetch(url, options).then((r) => r.ok).catch(() => false);

// --- the load generator ------------------------------------------------------------------------------------

const words = (options) =>
  Object.entries(options).flatMap(([k, v]) => (v === false ? [] : v === true ? [`--${k}`] : [`--${k}`, String(v)]));

function result(options, code, out, text) {
  const got = code === 0 || out ? JSON.parse(out || '{}') : {};
  if (code !== 0) throw new Error(`load ${words(options).join(' ')}: ${text}`);
  return got;
}

export function load(options) {
  const run = spawnSync(join(build, 'bench/load'), words({ seconds, ...options }), { encoding: 'utf8' });
  return result(options, run.status, run.stdout, run.stderr);
}

/** The same while something else goes on. */
export async function loadBeside(options) {
  const child = start(join(build, 'bench/load'), words({ seconds, ...options }));
  const code = await child.ended;
  return result(options, code, child.out, child.text);
}

// --- servers -----------------------------------------------------------------------------------------------

/** A store that holds a fleet of so many nodes in service, in clusters of so many. */
export function seeded(nodes, name = `fleet-${nodes}`, perCluster = nodes, orchestrator = 'none') {
  const [state, file] = [join(dir, name), join(dir, `${name}.nodes`)];
  if (!existsSync(state)) {
    const made = spawnSync(join(build, 'bench/seed'), [state, String(nodes), file, String(perCluster), orchestrator], { encoding: 'utf8' });
    if (made.status !== 0) throw new Error(made.stderr);
  }
  return { state, file };
}

/** hpd on such a store. */
export async function hpd(nodes, name = `fleet-${nodes}`, perCluster = nodes) {
  const { state, file } = seeded(nodes, name, perCluster);
  // The fleet has no provider here: what is measured ends with the decision on disk.
  writeFileSync(join(dir, 'hpd.yaml'), 'workers: 2\nagents: {heartbeatInterval: 10s, silentAfter: 1h}\n');
  const child = start(join(build, 'hpd'), ['--state-dir', state, '--listen', '127.0.0.1:0', '--config', join(dir, 'hpd.yaml')]);
  await until('hpd', () => /https?:\/\/[0-9.]+:(\d+)/.test(child.text) || child.exitCode !== null);
  if (child.exitCode !== null) throw new Error(child.text);
  const port = Number(/https?:\/\/[0-9.]+:(\d+)/.exec(child.text)[1]);
  const token = readFileSync(join(state, 'admin.token'), 'utf8').trim();
  await until('readiness', answers(`http://127.0.0.1:${port}/readyz`));
  return { child, port, name, nodes: file, token, url: `http://127.0.0.1:${port}` };
}

export async function nginx() {
  const port = await freePort();
  writeFileSync(
    join(dir, 'nginx.conf'),
    `worker_processes 2; daemon off; pid ${dir}/nginx.pid; error_log stderr;
     events { worker_connections 20000; }
     http { access_log off; keepalive_requests 1000000000; client_body_temp_path ${dir}/nb; proxy_temp_path ${dir}/np;
       fastcgi_temp_path ${dir}/nf; uwsgi_temp_path ${dir}/nu; scgi_temp_path ${dir}/ns;
       server { listen 127.0.0.1:${port} reuseport; location / { default_type application/json; return 200 "{}"; } } }`,
  );
  const child = start('/usr/sbin/nginx', ['-c', join(dir, 'nginx.conf')]);
  await until('nginx', answers(`http://127.0.0.1:${port}/`));
  return { child, port };
}

/** libmicrohttpd with nothing behind it, answering so many bytes. */
export async function bare(bytes = 2) {
  const port = await freePort();
  const child = start(join(build, 'bench/bare'), [String(port), '2', String(bytes)]);
  await until('bare', answers(`http://127.0.0.1:${port}/`, { method: 'POST' }));
  return { child, port };
}

export async function etcd() {
  const [client, peer] = [await freePort(), await freePort()];
  const [ours, theirs] = [`http://127.0.0.1:${client}`, `http://127.0.0.1:${peer}`];
  const child = start('etcd', [
    '--data-dir', join(dir, 'etcd'), '--listen-client-urls', ours, '--advertise-client-urls', ours, '--listen-peer-urls', theirs,
    '--initial-advertise-peer-urls', theirs, '--initial-cluster', `default=${theirs}`, '--log-level', 'error',
    '--quota-backend-bytes', '8000000000',
  ]);
  await until('etcd', answers(`${ours}/health`));
  return { child, port: client };
}

// --- what a process costs ----------------------------------------------------------------------------------

export function memoryMb(pid) {
  const m = /^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'));
  return m ? Number(m[1]) / 1024 : NaN;
}

/** What it alone takes, and its share of what it has in common with others. */
export function proportionalMb(pid) {
  const m = /^Pss:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8'));
  return m ? Number(m[1]) / 1024 : NaN;
}

/** Looks after the short-lived children of a process; end() tells how many were seen and the most that one had. */
export function childMemory(pid) {
  const seen = new Map();
  const children = () => {
    try {
      return readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean);
    } catch {
      return []; // it has ended itself
    }
  };
  const look = () => {
    for (const child of children())
      try {
        const rss = Number(/^VmHWM:\s+(\d+) kB/m.exec(readFileSync(`/proc/${child}/status`, 'utf8'))?.[1] ?? 0) / 1024;
        const was = seen.get(child) ?? { rss: 0, pss: 0 };
        seen.set(child, { rss: Math.max(was.rss, rss), pss: Math.max(was.pss, proportionalMb(child) || 0) });
      } catch {
        // it has ended
      }
  };
  const timer = setInterval(look, 2);
  const most = (what) => Math.max(0, ...[...seen.values()].map((one) => one[what]));
  return { end: () => (clearInterval(timer), { seen: seen.size, rssMb: most('rss'), pssMb: most('pss') }) };
}

/**
 * Processor time of all threads, to the microsecond (the ticks of /proc/PID/stat are too coarse for an agent), and of the
 * children that have ended, an agent's checks, in ticks.
 */
export function cpuMs(pid) {
  const [, , , , , , , , , , , , , cutime, cstime] = readFileSync(`/proc/${pid}/stat`, 'utf8').replace(/^.*\) /, '').split(' ');
  let ns = (Number(cutime) + Number(cstime)) * 1e7;
  for (const task of readdirSync(`/proc/${pid}/task`))
    try {
      ns += Number(readFileSync(`/proc/${pid}/task/${task}/schedstat`, 'utf8').split(' ')[0]);
    } catch {
      // the thread has ended
    }
  return ns / 1e6;
}
