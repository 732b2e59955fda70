// Machines that Holdfast does not launch (provider manual): real hpd, real agents that this test starts, "reboots" and
// takes away as a person would, after it was asked to. No scheduler.
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { appendFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { agentPath, hpctlPath, hpdPath } from './lib/programs.mjs';
import { FELL_OFF, until } from './lib/world.mjs';

const dir = mkdtempSync(join(tmpdir(), 'holdfast-manual.'));
const env = { ...process.env, HOME: dir };
delete env.HPCTL_CONFIG;

function hpctl(...args) {
  const run = spawnSync(hpctlPath, args, { encoding: 'utf8', env });
  return { code: run.status, out: run.stdout, err: run.stderr };
}

function json(...args) {
  const run = hpctl(...args, '-o', 'json');
  if (run.code !== 0) throw new Error(`hpctl ${args.join(' ')}: exit ${run.code}: ${run.err}`);
  return JSON.parse(run.out);
}

async function end(process) {
  if (process.exitCode !== null || process.signalCode !== null) return;
  const gone = new Promise((done) => process.once('exit', done));
  process.kill('SIGTERM');
  await gone;
}

// A machine: a disk that outlives its boots (the agent's state, its token) and, at each boot, another boot id and kernel log.
class Machine {
  constructor(node, instance) {
    Object.assign(this, { node, instance, dir: join(dir, instance) });
    mkdirSync(this.dir);
    this.writeToken();
  }

  writeToken() {
    const secret = json('token', 'create', '--cluster', 'bare', '--enrollment', '--node', this.node).secret;
    assert.match(secret, /^hfe_/);
    writeFileSync(join(this.dir, 'token'), secret + '\n', { mode: 0o600 });
  }

  boot() {
    this.bootId = randomUUID();
    writeFileSync(join(this.dir, 'boot_id'), this.bootId + '\n');
    writeFileSync(join(this.dir, 'kmsg'), 'Linux version 6.1.0-test\n');
    const at = (name) => join(this.dir, name);
    this.log = '';
    this.agent = spawn(agentPath, ['--server', env.HPCTL_URL, '--state-dir', at('agent'), '--instance-id', this.instance, '--token-file', at('token'), '--kmsg', at('kmsg'), '--boot-id-file', at('boot_id'), '--checks', 'none'], { stdio: ['ignore', 'ignore', 'pipe'] });
    this.agent.stderr.on('data', (d) => (this.log += d));
  }

  async off() {
    await end(this.agent);
  }

  kernel(line) {
    appendFileSync(join(this.dir, 'kmsg'), line + '\n');
  }
}

const machines = [];
let hpd;

function install(node, instance) {
  const machine = new Machine(node, instance);
  machines.push(machine);
  machine.boot();
  return machine;
}

const node = (name) => json('node', 'describe', name);
const isReady = (name) => node(name).state === 'ready' && node(name).health === 'healthy';
const events = (filter) => json('event', 'list', '--limit', '0', '--node', filter.node).filter((e) => e.message.includes(filter.says));
// The node's active operation, when it waits at this step for what a person shall do.
function asked(name, kind, step, words) {
  const list = json('operation', 'list', '--node', name, '--limit', '0');
  const operation = list.find((o) => o.kind === kind && o.state === 'running');
  if (!operation) throw new Error(JSON.stringify(list));
  const at = json('operation', 'describe', operation.id).steps.find((s) => s.name === step);
  return at.state === 'running' && words.test(at.detail ?? '') ? operation : undefined;
}

before(async () => {
  const config = join(dir, 'hpd.yaml');
  writeFileSync(config, JSON.stringify({ // JSON is YAML
    agents: { heartbeatInterval: '500ms', silentAfter: '5s', unreachableAfter: '10m' },
    recovery: { verifyQuiet: '1s', retryMin: '100ms', retryMax: '1s' },
  }));
  const state = join(dir, 'state');
  let log = '';
  hpd = spawn(hpdPath, ['--state-dir', state, '--listen', '127.0.0.1:0', '--config', config], { stdio: ['ignore', 'ignore', 'pipe'] });
  hpd.stderr.on('data', (d) => (log += d));
  const listening = await until('hpd listens', () => {
    if (hpd.exitCode !== null) throw new Error(log);
    return /listening on (\S+?),/.exec(log);
  });
  Object.assign(env, { HPCTL_URL: listening[1], HPCTL_TOKEN: readFileSync(join(state, 'admin.token'), 'utf8').trim() });
});

after(async () => {
  for (const machine of machines) await machine.off();
  if (hpd) await end(hpd);
  rmSync(dir, { recursive: true, force: true });
});

test('an hpd that has nothing but people takes a cluster of their machines, and no other', () => {
  const file = join(dir, 'cluster.yaml');
  const create = (spec) => {
    writeFileSync(file, JSON.stringify({ name: 'bare', ...spec }));
    return hpctl('cluster', 'create', '-f', file);
  };
  const group = { name: 'gpu', instanceCount: 2, nodeNames: 'gpu-[1-2]' };
  const scheduled = create({ instanceGroups: [{ ...group, provider: 'manual' }] });
  assert.equal(scheduled.code, 2);
  assert.match(scheduled.err, /slurm section/);
  const local = create({ orchestrator: 'none', instanceGroups: [group] });
  assert.equal(local.code, 2);
  assert.match(local.err, /"local".*only: "manual"/);
  assert.equal(create({ orchestrator: 'none', instanceGroups: [{ ...group, provider: 'manual' }] }).code, 0);
});

test('a slot waits for its machine, and the machine that enrols fills it', async () => {
  await until('the question', () => asked('gpu-1', 'launch', 'launch', /hpctl token create --cluster bare --enrollment --node gpu-1/));
  assert.equal(node('gpu-1').state, 'starting');
  install('gpu-1', 'i-rack1');
  install('gpu-2', 'i-rack2');
  await until('both ready', () => isReady('gpu-1') && isReady('gpu-2'));
  assert.equal(node('gpu-1').instanceId, 'i-rack1');
  hpctl('node', 'opt-out', 'gpu-1');
  assert.match(hpctl('node', 'list').out, /^gpu-1 .* opted out/m);
  hpctl('node', 'opt-in', 'gpu-1');
  assert.doesNotMatch(hpctl('node', 'list').out, /opted out/);
});

test('a fault asks a person for a reboot, and the new boot ends it', async () => {
  const [machine] = machines;
  machine.kernel(FELL_OFF);
  await until('the question', () => asked('gpu-1', 'reboot', 'join', /reboot this machine now/));
  assert.equal(events({ node: 'gpu-1', says: 'reboot this machine now; Holdfast goes on when it comes up with a new boot id' }).length, 1);
  assert.equal(node('gpu-1').state, 'repairing');
  await machine.off();
  machine.boot();
  await until('ready again', () => isReady('gpu-1'));
  assert.equal(node('gpu-1').bootId, machine.bootId);
  assert.equal(node('gpu-1').instanceId, 'i-rack1');
});

test('the same fault again asks for another machine, and the old one does not come back', async () => {
  const [machine] = machines;
  machine.kernel(FELL_OFF);
  const operation = await until('the question', () => asked('gpu-1', 'replace', 'launch', /waits for a machine/));
  assert.equal(events({ node: 'gpu-1', says: 'i-rack1 was let go: take this machine out of use now' }).length, 1);
  await until('the old agent is refused', () => /filled a slot before|stale|refuse/i.test(machine.log));
  assert.ok(asked('gpu-1', 'replace', 'launch', /waits for a machine/), 'the old machine does not fill the slot');
  await machine.off();
  install('gpu-1', 'i-spare');
  await until('ready again', () => isReady('gpu-1'));
  assert.equal(node('gpu-1').instanceId, 'i-spare');
  const done = json('operation', 'describe', operation.id);
  assert.deepEqual([done.state, done.oldInstanceId, done.newInstanceId], ['succeeded', 'i-rack1', 'i-spare']);
  assert.equal(node('gpu-2').state, 'ready');
});
