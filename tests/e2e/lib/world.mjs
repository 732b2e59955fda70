// A whole small world for one test file: a private Slurm, hpd, and four machines (or as many as nodes says) of the local provider,
// each with a real hp-agent beside its slurmd. Everything lives in a directory of its own and is ended by pid.
import { spawn, spawnSync } from 'node:child_process';
import { appendFileSync, existsSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir, userInfo } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { agentService, hpctlPath, hpdPath, root } from './programs.mjs';

const lab = join(root, 'tests/support/slurm-lab');
const sshdLab = join(root, 'tests/support/sshd-lab');

export const XID = (code, text = 'injected', pci = '0000:b9:00') =>
  `NVRM: Xid (PCI:${pci}): ${code}, pid=<unknown>, name=<unknown>, ${text}`;
export const FELL_OFF = XID(79, 'GPU has fallen off the bus.');

// Polls: nothing here is a sleep for luck, every wait has a condition and a limit.
export async function until(what, check, ms = 90000) {
  let last;
  for (const end = Date.now() + ms; Date.now() < end; await sleep(100)) {
    try {
      last = await check();
      if (last) return last;
    } catch (error) {
      last = error;
    }
  }
  throw new Error(`timed out after ${ms} ms: ${what}; last: ${last instanceof Error ? last.stack : JSON.stringify(last)}`);
}

export class World {
  // way: by what hpd speaks to Slurm, 'here' (its programs), 'ssh' (the same, by a sshd of ours), 'rest' (slurmrestd), or 'rest+ssh':
  // by slurmrestd, and by sshd what that cannot do.
  constructor(options = {}) {
    this.options = options;
    this.way = options.way ?? 'here';
    this.nodes = options.nodes ?? 4;
    this.dir = mkdtempSync(join(tmpdir(), 'holdfast-e2e.'));
    this.state = join(this.dir, 'state');
    this.slurm = join(this.dir, 'slurm');
  }

  by(way) {
    return this.way.split('+').includes(way);
  }

  lab(...args) {
    const run = spawnSync(lab, args, { encoding: 'utf8' });
    if (run.status !== 0) throw new Error(`slurm-lab ${args.join(' ')}: ${run.stderr}${run.stdout}`);
    return run.stdout;
  }

  sshd(verb) {
    const run = spawnSync(sshdLab, [verb, join(this.dir, 'sshd')], { encoding: 'utf8' });
    if (run.status !== 0) throw new Error(`sshd-lab ${verb}: ${run.stderr}${run.stdout}`);
  }

  // The part of hpd's configuration that says how.
  wayConfig() {
    const user = userInfo().username;
    const port = (file) => Number(readFileSync(file, 'utf8'));
    const at = (name) => join(this.dir, 'sshd', name);
    const ssh = () => ({ ssh: { host: '127.0.0.1', port: port(at('port')), user, keyFile: at('key'), knownHosts: at('known_hosts') } });
    const rest = () => ({ rest: { url: `http://127.0.0.1:${port(join(this.slurm, 'rest.port'))}`, user, tokenFile: join(this.slurm, 'rest.token') } });
    return { ...(this.by('ssh') ? ssh() : {}), ...(this.by('rest') ? rest() : {}) };
  }

  run(command, ...args) {
    const run = spawnSync(command, args, { encoding: 'utf8', env: { ...process.env, ...this.env } });
    return { code: run.status, out: run.stdout, err: run.stderr };
  }

  // Slurm's programs; the output, or an error with what they said.
  slurmRun(command, ...args) {
    const run = this.run(command, ...args);
    if (run.code !== 0) throw new Error(`${command} ${args.join(' ')}: ${run.err}`);
    return run.out.trim();
  }

  hpctl(...args) {
    return this.run(hpctlPath, ...args);
  }

  json(...args) {
    const run = this.hpctl(...args, '-o', 'json');
    if (run.code !== 0) throw new Error(`hpctl ${args.join(' ')}: exit ${run.code}: ${run.err}`);
    return JSON.parse(run.out);
  }

  async start() {
    this.lab('start', this.slurm, '--nodes', `gpu-[1-${this.nodes}]`, ...(this.by('rest') ? ['--rest'] : []), ...(this.options.lab ?? ['--no-slurmd']));
    if (this.by('ssh')) this.sshd('start');
    const env = this.lab('env', this.slurm);
    this.env = { SLURM_CONF: /SLURM_CONF=(.*)/.exec(env)[1], HPCTL_CONFIG: '', HOME: this.dir };
    delete this.env.HPCTL_CONFIG;
    this.slurmd = /SLURMD="(.*)"/.exec(env)[1].split(' ').map((a) => (a === '-b' ? '{firstStart:-b}' : a));
    this.writeConfig();
    await this.startHpd();
    if (this.options.cluster !== false) await this.createCluster();
    return this;
  }

  writeConfig() {
    const config = {
      agents: { heartbeatInterval: '1s', silentAfter: '5s', unreachableAfter: '15s' },
      slurm: { conf: this.env.SLURM_CONF, timeout: '10s', ...this.wayConfig() },
      providers: { local: { dir: join(this.dir, 'instances'), bootDelay: '500ms', services: [{ name: 'slurmd', command: this.slurmd }, this.options.agent ?? agentService] } },
      recovery: { diagnosisSettle: '1s', observeInterval: '500ms', verifyQuiet: '1s', evictDeadline: '1m', drainDeadline: '2m', retryMin: '100ms', retryMax: '1s', ...this.options.recovery },
      ...this.options.config,
      ...(this.options.publicUrl ? { publicUrl: this.options.publicUrl } : {}),
    };
    this.config = join(this.dir, 'hpd.yaml');
    writeFileSync(this.config, JSON.stringify(config)); // JSON is YAML
  }

  async startHpd() {
    const listen = this.port ? `127.0.0.1:${this.port}` : (this.options.listen ?? '127.0.0.1:0');
    this.log = '';
    this.hpd = spawn(hpdPath, ['--state-dir', this.state, '--listen', listen, '--config', this.config], { stdio: ['ignore', 'ignore', 'pipe'], env: { ...process.env, ...this.env } });
    this.hpd.stderr.on('data', (d) => {
      this.log += d;
      appendFileSync(join(this.dir, 'hpd.log'), d);
    });
    const hpd = this.hpd;
    await until('hpd listens', () => {
      if (hpd.exitCode !== null) throw new Error(this.log);
      return /https?:\/\/[^ ]+:\d+/.exec(this.log);
    });
    this.url = /https?:\/\/[^ ,]+:\d+/.exec(this.log)[0];
    this.port = Number(/:(\d+)$/.exec(this.url)[1]);
    this.token = readFileSync(join(this.state, 'admin.token'), 'utf8').trim();
    Object.assign(this.env, { HPCTL_URL: this.url, HPCTL_TOKEN: this.token });
  }

  // kill -9, as a power cut would; what the machines run goes on.
  async killHpd() {
    const gone = new Promise((done) => this.hpd.on('exit', done));
    this.hpd.kill('SIGKILL');
    await gone;
  }

  async createCluster(spec = {}) {
    const file = join(this.dir, 'cluster.yaml');
    writeFileSync(file, JSON.stringify({ name: 'demo', nodeRecovery: 'Automatic', instanceGroups: [{ name: 'workers', instanceCount: this.nodes, nodeNames: `gpu-[1-${this.nodes}]` }], ...spec }));
    const made = this.hpctl('cluster', 'create', '-f', file);
    if (made.code !== 0) throw new Error(made.err);
    await until('all nodes ready', () => this.json('node', 'list').every((n) => n.state === 'ready' && n.health === 'healthy'));
    await until('all nodes idle', () => this.states().filter((s) => s === 'idle').length === this.nodes);
  }

  // srun --auto-resume, by the built plugin.
  allowAutoResume(more = { pollInterval: '500ms' }) {
    const [build, conf, file] = [dirname(hpdPath), join(this.dir, 'auto-resume.conf'), join(this.slurm, 'slurm.conf')];
    const token = this.json('token', 'create', '--role', 'job', '--name', 'steps').secret;
    writeFileSync(conf, JSON.stringify({ url: this.url, cluster: 'demo', token, ...more }));
    writeFileSync(join(this.slurm, 'plugstack.conf'), `optional ${join(build, 'holdfast_auto_resume.so')} helper=${join(build, 'hp-auto-resume')} conf=${conf} append\n`);
    writeFileSync(file, readFileSync(file, 'utf8').replace(/^SchedulerParameters=.*/m, '$&,permit_job_expansion'));
    this.slurmRun('scontrol', 'reconfigure');
  }

  node(name) {
    return this.json('node', 'describe', name);
  }

  // hpd has looked at Slurm so often again: enough for what it would do by what stands there now to have begun.
  async looks(count) {
    const at = async () => {
      const text = await (await fetch(`${this.url}/metrics`, { headers: { authorization: `Bearer ${this.token}` } })).text();
      return /^holdfast_scheduler_observed_timestamp_seconds(?:\{.*\})? (\S+)$/m.exec(text)[1];
    };
    for (let last = await at(), i = 0; i < count; i++) last = await until('hpd looks at Slurm', async () => { const now = await at(); return now !== last && now; });
  }

  states() {
    return this.slurmRun('sinfo', '-h', '-N', '-o', '%t').split('\n');
  }

  slurmNode(name) {
    const text = this.slurmRun('scontrol', 'show', 'node', '-o', name);
    return { state: /State=(\S+)/.exec(text)[1], reason: /Reason=(.*?) \[/.exec(text)?.[1] ?? '' };
  }

  kernel(name, line) {
    appendFileSync(join(this.dir, 'instances', this.node(name).instanceId, 'kmsg'), line + '\n');
  }

  events(filter = {}) {
    const args = ['event', 'list', '--limit', '0'];
    if (filter.node) args.push('--node', filter.node);
    return this.json(...args).filter((e) => !filter.kind || e.kind === filter.kind).sort((a, b) => a.id - b.id);
  }

  operations(node) {
    return this.json('operation', 'list', '--node', node, '--limit', '0');
  }

  async repaired(node, kind, before = 0) {
    await until(`${node}: ${kind} done`, () => {
      const done = this.operations(node).filter((o) => o.kind === kind && o.state === 'succeeded');
      return done.length > before && this.node(node).state === 'ready';
    });
    await until(`${node} idle in Slurm`, () => this.slurmNode(node).state === 'IDLE');
  }

  // How often the provider really rebooted each machine: its supervisor makes a boot id at each boot.
  async end() {
    if (this.hpd && this.hpd.exitCode === null && this.hpd.signalCode === null) {
      const gone = new Promise((done) => this.hpd.on('exit', done));
      this.hpd.kill('SIGTERM');
      await gone;
    }
    const instances = join(this.dir, 'instances');
    for (const id of existsSync(instances) ? readdirSync(instances) : []) {
      const file = join(instances, id, 'machine.pid');
      if (!existsSync(file)) continue;
      const pid = Number(readFileSync(file, 'utf8').split(' ')[0]);
      const line = pid > 1 && existsSync(`/proc/${pid}/cmdline`) ? readFileSync(`/proc/${pid}/cmdline`, 'utf8') : '';
      if (line.includes(join(instances, id))) {
        process.kill(pid, 'SIGTERM');
        await until(`machine ${id} off`, () => !existsSync(`/proc/${pid}`), 20000).catch(() => {});
      }
    }
    if (existsSync(join(this.dir, 'sshd'))) this.sshd('stop');
    if (existsSync(this.slurm)) this.lab('stop', this.slurm);
    if (!process.env.KEEP) rmSync(this.dir, { recursive: true, force: true });
  }
}
