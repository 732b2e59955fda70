// 500 nodes, a real slurmd each, on one slurmctld: what a look of hpd asks is the same as of eight, each node is seen as it is, and a
// fault of one of them takes that one alone out. An agent runs for that one; nobody plays the others' machines.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { appendFileSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { agentPath } from '../lib/programs.mjs';
import { FELL_OFF, World, until } from '../lib/world.mjs';

const NODES = 500;
const LONG = 180000; // a loaded machine starts them slowly
let world, agent;

before(async () => {
  process.env.LAB_SLURMD_TIMEOUT = '120'; // none is to be called silent for being one of so many on this machine
  world = new World({ nodes: NODES, lab: [], cluster: false, config: {} });
  world.wayConfig = () => ({ jobSnapshotInterval: '2s' });
  await world.start();
});
after(async () => {
  if (agent && agent.exitCode === null) {
    const gone = new Promise((done) => agent.on('exit', done));
    agent.kill('SIGTERM');
    await gone;
  }
  await world?.end();
});

// When it was last looked at.
const looked = async () => {
  const text = await (await fetch(`${world.url}/metrics`, { headers: { authorization: `Bearer ${world.token}` } })).text();
  return Number(/^holdfast_scheduler_observed_timestamp_seconds\{scheduler="slurm"\} (\S+)$/m.exec(text)[1]);
};
// What slurmctld was asked by people's programs: not what its own node daemons send, and not sdiag itself.
const asked = () => {
  const kinds = world.slurmRun('sdiag').split('Remote Procedure Call statistics by user')[0].matchAll(/^\s*(REQUEST_\w+)\s+\(.*?\) count:(\d+)/gm);
  return new Map([...kinds].map(([, kind, count]) => [kind, Number(count)]));
};
const states = () => world.slurmRun('sinfo', '-h', '-N', '-o', '%N %T').split('\n').map((line) => line.split(' '));

test('all of them are found, and a group is made of them', async () => {
  const view = await until('they are seen', () => {
    const run = world.json('scheduler', 'describe');
    return run.nodeCount === NODES && run;
  }, LONG);
  assert.deepEqual(view.partitions.map((p) => [p.name, p.nodeCount, p.nodes]), [['dev', NODES, 'gpu-[1-500]']]);
  const file = join(world.dir, 'many.yaml');
  writeFileSync(file, JSON.stringify({ name: 'many', instanceGroups: [{ name: 'all', provider: 'manual', nodesFrom: { partition: 'dev' } }] }));
  const run = world.hpctl('apply', '-f', file, '--yes');
  assert.equal(run.code, 0, run.err);
  assert.equal(world.json('cluster', 'describe', 'many').instanceGroups[0].instanceCount, NODES);
});

test('each is seen in the state that it has', async () => {
  world.slurmRun('scontrol', 'update', 'NodeName=gpu-[100-109]', 'State=DRAIN', 'Reason=a person');
  world.slurmRun('scontrol', 'update', 'NodeName=gpu-200', 'State=DOWN', 'Reason=cold aisle');
  world.slurmRun('sbatch', '--parsable', '-N3', '-w', 'gpu-[301-303]', '-o', '/dev/null', '--wrap', 'sleep 600');
  const seen = await until('it is in the snapshot', () => {
    const nodes = world.json('scheduler', 'nodes');
    const of = (pattern) => nodes.filter((n) => pattern.test(n.state)).map((n) => n.name).join();
    return of(/ALLOCATED|MIXED/) === 'gpu-301,gpu-302,gpu-303' && of(/DOWN/) === 'gpu-200' && nodes;
  }, LONG);
  assert.deepEqual(seen.filter((n) => /DRAIN/.test(n.state)).map((n) => n.name), Array.from({ length: 10 }, (_, i) => `gpu-${100 + i}`));
  assert.equal(seen.filter((n) => n.state === 'IDLE').length, NODES - 14);
});

test('a look asks slurmctld once for all of them, as at eight nodes', async () => {
  const before = asked(), looks = new Set([await looked()]);
  await until('it has looked ten times more', async () => looks.add(await looked()).size > 10, LONG);
  const now = asked(), more = (kind) => (now.get(kind) ?? 0) - (before.get(kind) ?? 0);
  assert.ok(more('REQUEST_NODE_INFO') >= 8, `${more('REQUEST_NODE_INFO')} in ten looks`);
  assert.ok(more('REQUEST_NODE_INFO') <= 14, `${more('REQUEST_NODE_INFO')} in ten looks`); // one may be under way at either end
  assert.equal(more('REQUEST_NODE_INFO_SINGLE'), 0);
});

test('a fault of one takes that one alone out', async () => {
  const name = 'gpu-7', at = join(world.dir, name);
  const token = world.json('token', 'create', '--cluster', 'many', '--enrollment', '--node', name).secret;
  mkdirSync(at);
  const put = (file, text) => {
    writeFileSync(join(at, file), text, { mode: 0o600 });
    return join(at, file);
  };
  const files = ['--token-file', put('token', token), '--kmsg', put('kmsg', 'Linux version 6.1.0-test\n'), '--boot-id-file', put('boot_id', 'boot-of-gpu-7\n')];
  agent = spawn(agentPath, ['--server', world.url, '--state-dir', join(at, 'agent'), '--instance-id', 'i-7', '--checks', 'none', ...files], { stdio: 'ignore' });
  await until('it is in service', () => world.node(name).state === 'ready', LONG);
  const out = () => states().filter(([, state]) => /drain|fail|down/.test(state)).map(([node]) => node);
  const before = new Set(out());
  appendFileSync(join(at, 'kmsg'), FELL_OFF + '\n');
  await until('it is drained', () => out().includes(name), LONG);
  const looks = new Set();
  await until('two looks later', async () => looks.add(await looked()).size > 2, LONG);
  assert.deepEqual(out().filter((node) => !before.has(node)), [name]);
  assert.deepEqual(world.operations(name).filter((o) => o.state !== 'succeeded').map((o) => [o.kind, o.code]), [['reboot', 'xid.79']]);
});
