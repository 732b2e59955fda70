// Machines of a site's own (provider inventory): real hpd, real agents that wait as spares, a fault line in a kernel log, and the
// spare in service; a kill of hpd in the middle; the bench, its evidence, and the way back. No scheduler.
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { appendFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { agentPath, hpctlPath, hpdPath } from '../lib/programs.mjs';
import { until, XID } from '../lib/world.mjs';

const dir = mkdtempSync(join(tmpdir(), 'holdfast-inventory.'));
const env = { ...process.env, HOME: dir };
delete env.HPCTL_CONFIG;
const NO_ROWS_LEFT = XID(64, 'Row remapping failed'); // asks for another machine at once

function hpctl(...args) {
  const run = spawnSync(hpctlPath, args, { encoding: 'utf8', env });
  return { code: run.status, out: run.stdout, err: run.stderr };
}

function json(...args) {
  const run = hpctl(...args, '-o', 'json');
  if (run.code !== 0) throw new Error(`hpctl ${args.join(' ')}: exit ${run.code}: ${run.err}`);
  return JSON.parse(run.out);
}

async function end(process, signal = 'SIGTERM') {
  if (process.exitCode !== null || process.signalCode !== null) return;
  const gone = new Promise((done) => process.once('exit', done));
  process.kill(signal);
  await gone;
}

let hpd;
async function start(port) {
  let log = '';
  hpd = spawn(hpdPath, ['--state-dir', join(dir, 'state'), '--listen', `127.0.0.1:${port}`, '--config', join(dir, 'hpd.yaml')], { stdio: ['ignore', 'ignore', 'pipe'] });
  hpd.stderr.on('data', (d) => (log += d));
  const listening = await until('hpd listens', () => {
    if (hpd.exitCode !== null) throw new Error(log);
    return /listening on (\S+?),/.exec(log);
  });
  Object.assign(env, { HPCTL_URL: listening[1], HPCTL_TOKEN: readFileSync(join(dir, 'state/admin.token'), 'utf8').trim() });
}

class Machine {
  constructor(name, place) {
    Object.assign(this, { name, dir: join(dir, name) });
    mkdirSync(this.dir);
    json('machine', 'add', name, ...Object.entries(place).map(([key, value]) => `${key}=${value}`));
    this.boot();
  }

  at(name) {
    return join(this.dir, name);
  }

  boot() {
    writeFileSync(this.at('boot_id'), randomUUID() + '\n');
    writeFileSync(this.at('kmsg'), 'Linux version 6.1.0-test\n');
    this.agent = spawn(agentPath, ['--server', env.HPCTL_URL, '--state-dir', this.at('agent'), '--machine', this.name, '--token-file', join(dir, 'token'), '--kmsg', this.at('kmsg'), '--boot-id-file', this.at('boot_id'), '--checks', 'none'], { stdio: ['ignore', 'ignore', 'pipe'] });
    this.log = '';
    this.agent.stderr.on('data', (d) => (this.log += d));
  }

  kernel(line) {
    appendFileSync(this.at('kmsg'), line + '\n');
  }

  get state() {
    return json('machine', 'describe', this.name);
  }
}

const machines = {};
let first; // the machine that broke first
const node = (name) => json('node', 'describe', name);
const isReady = (name) => node(name).state === 'ready' && node(name).health === 'healthy';
const machineOf = (name) => json('machine', 'list').find((m) => m.use?.node === name)?.name;
const isIn = (name, state) => () => machines[name].state.state === state;
const hasEvent = (kind, says) => json('event', 'list', '--limit', '0').some((e) => e.kind === kind && says.test(e.message));

before(async () => {
  writeFileSync(join(dir, 'hpd.yaml'), JSON.stringify({ // JSON is YAML
    providers: { rack: { kind: 'inventory', burnIn: '1s' } },
    agents: { heartbeatInterval: '500ms', silentAfter: '20s' },
    recovery: { verifyQuiet: '2s', retryMin: '100ms', retryMax: '1s', capacityPause: '10m', replacesMax: 10 },
  }));
  await start(0);
  writeFileSync(join(dir, 'token'), json('token', 'create', '--machines').secret + '\n', { mode: 0o600 });
});

after(async () => {
  for (const machine of Object.values(machines)) await end(machine.agent);
  if (hpd) await end(hpd);
  rmSync(dir, { recursive: true, force: true });
});

test('machines wait as spares, and a cluster takes them', async () => {
  for (const [name, rack] of [['m1', 'r1'], ['m2', 'r2'], ['m3', 'r2'], ['m4', 'r1']]) machines[name] = new Machine(name, { rack, serial: `S-${name}`, bmc: `10.21.0.${name.slice(1)}` });
  await until('four spares', () => json('machine', 'list').filter((m) => m.ready).length === 4);
  writeFileSync(join(dir, 'cluster.yaml'), JSON.stringify({ name: 'own', orchestrator: 'none', instanceGroups: [{ name: 'gpu', instanceCount: 2, provider: 'rack' }] }));
  assert.equal(hpctl('cluster', 'create', '-f', join(dir, 'cluster.yaml'), '--wait').code, 0);
  assert.deepEqual(json('cluster', 'describe').instanceGroups[0].spares, { total: 2, ready: 2 });
  assert.match(hpctl('cluster', 'describe').out, /2 spares ready of 2/);
  assert.deepEqual(json('provider', 'list').map((p) => [p.name, p.kind, p.state, p.machines]).slice(0, 1), [['rack', 'inventory', 'ok', 2]]);
});

test('a fault puts a spare of the same rack into service within seconds, and the broken machine to the bench', async () => {
  const broken = machineOf('gpu-1'), began = Date.now();
  const rack = machines[broken].state.rack;
  machines[broken].kernel(NO_ROWS_LEFT);
  await until('another machine in service', () => machineOf('gpu-1') !== undefined && machineOf('gpu-1') !== broken && isReady('gpu-1'));
  const took = Date.now() - began;
  console.log(`# fault line to spare in service: ${took} ms`);
  assert.ok(took < 30000, `${took} ms`); // a loaded machine; it is below a second on an idle one
  assert.equal(machines[machineOf('gpu-1')].state.rack, rack);
  const bench = machines[broken].state;
  assert.deepEqual([bench.state, bench.uses[0].broken, bench.uses[0].node], ['bench', true, 'gpu-1']);
  const evidence = json('machine', 'evidence', broken);
  assert.equal(evidence.machine.serial, `S-${broken}`);
  assert.deepEqual(evidence.uses.map((u) => [u.node, u.verdicts.map((v) => v.code), u.repairs.map((r) => r.kind), u.decisions.length]), [['gpu-1', ['xid.64'], ['replace'], 1]]);
  const text = hpctl('machine', 'evidence', broken).out;
  for (const words of [`S-${broken}`, NO_ROWS_LEFT, 'replace succeeded'.split(' ')[0]]) assert.ok(text.includes(words), `${words} in ${text}`);
  first = broken;
});

test('hpd that is killed in the middle takes nothing twice, and the last spare is told of', async () => {
  const broken = machineOf('gpu-2');
  machines[broken].kernel(NO_ROWS_LEFT);
  await until('it begins', () => json('operation', 'list', '--limit', '0').some((o) => o.kind === 'replace' && o.node === 'gpu-2'));
  const port = new URL(env.HPCTL_URL).port;
  await end(hpd, 'SIGKILL');
  await start(port);
  await until('in service', () => machineOf('gpu-2') !== undefined && machineOf('gpu-2') !== broken && isReady('gpu-2'));
  const list = json('machine', 'list');
  assert.deepEqual(list.map((m) => m.state).sort(), ['bench', 'bench', 'in-use', 'in-use']);
  assert.ok(hasEvent('spares-empty', /the last spare of the inventory rack is taken/));
  for (const name of ['m1', 'm2', 'm3', 'm4']) assert.ok(json('machine', 'describe', name).uses.length <= 1);
});

test('without a spare the slot waits, and is filled when a repaired machine has proved itself', async () => {
  const broken = machineOf('gpu-1'), repaired = first;
  machines[broken].kernel(NO_ROWS_LEFT);
  await until('no capacity', () => hasEvent('capacity-short', /the inventory has no spare/));
  assert.equal(hpctl('machine', 'release', repaired).code, 7); // from the bench only by a return
  assert.equal(hpctl('machine', 'return', repaired, '--reason', 'GPU 3 was changed').code, 0);
  assert.equal(machines[repaired].state.state, 'burn-in');
  await until('its agent still shows the old fault', () => /xid\.64/.test(machines[repaired].state.trouble ?? ''));
  await end(machines[repaired].agent);
  machines[repaired].boot();
  await until('it is gpu-1', () => machineOf('gpu-1') === repaired && isReady('gpu-1'));
  assert.ok(hasEvent('machine-state', new RegExp(`${repaired}: burn-in → spare: its burn-in found nothing wrong`)));
  await until('the agent has the new node', () => /this machine is gpu-1 now/.test(machines[repaired].log));
});

test('a machine that is well is a spare again when its slot goes', async () => {
  const well = machineOf('gpu-2');
  assert.equal(hpctl('cluster', 'delete', 'own', '--yes', '--wait').code, 0);
  await until('a spare', isIn(well, 'spare'));
  await until('that is ready', () => machines[well].state.ready);
  assert.equal(hpctl('machine', 'retire', well, '--reason', 'sent back').code, 0);
  assert.equal(machines[well].state.state, 'retired');
});
