// A cluster as a file: hpctl apply and export against a real hpd with real instances of the local provider.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { Local } from './lib/local.mjs';
import { hpctlPath } from './lib/programs.mjs';
import { until } from './lib/world.mjs';

const world = new Local();
before(() => world.start());
after(() => world.end());

const file = () => join(world.dir, 'cluster.yaml');
const write = (text) => writeFileSync(file(), text);

function hpctl(args, input = '') {
  const env = { ...process.env, HOME: world.dir, HPCTL_URL: `http://127.0.0.1:${world.port}`, HPCTL_TOKEN: world.token };
  delete env.HPCTL_CONFIG;
  const run = spawnSync(hpctlPath, args, { encoding: 'utf8', env, input });
  return { code: run.status, out: run.stdout, err: run.stderr };
}

const apply = (...args) => hpctl(['apply', '-f', file(), ...args]);
const names = async () => (await world.list('/v1/clusters/demo/nodes')).map((node) => node.name);
const allReady = (count) => until(`${count} nodes are ready`, async () => {
  const nodes = await world.list('/v1/clusters/demo/nodes');
  return nodes.length === count && nodes.every((node) => node.state === 'ready');
}, 120000);

const spec = (gpu, more = '') => `name: demo
orchestrator: none
instanceGroups:
  - name: gpu
    instanceCount: ${gpu}
    provider: local
    threadsPerCore: 1
    autoResumeReplaces: true
${more}`;

test('a file that nobody has applied makes a cluster, once it was seen and agreed to', async () => {
  write(spec(2));
  const seen = apply('--dry-run');
  assert.deepEqual([seen.code, seen.out], [0, '+ cluster demo\n+ group gpu: 2 nodes\n'], seen.err);
  assert.equal((await world.list('/v1/clusters')).length, 0, 'a dry run asks for nothing');
  const unasked = apply();
  assert.equal(unasked.code, 2);
  assert.match(unasked.err, /--yes/);
  assert.equal((await world.list('/v1/clusters')).length, 0);
  const done = apply('--yes', '--wait');
  assert.equal(done.code, 0, done.err);
  assert.match(done.out, /create-cluster[^]*succeeded[^]*2 of 2 nodes in service/);
  await allReady(2);
});

test('the same file again changes nothing', async () => {
  const { revision } = await world.get('/v1/clusters/demo');
  const again = apply('--yes');
  assert.deepEqual([again.code, again.out], [0, 'cluster demo is what the file says\n'], again.err);
  assert.equal((await world.get('/v1/clusters/demo')).revision, revision);
});

test('what export writes is what apply takes', async () => {
  const exported = hpctl(['cluster', 'export', 'demo']);
  assert.equal(exported.code, 0, exported.err);
  assert.match(exported.out, /threadsPerCore: 1/);
  assert.doesNotMatch(exported.out, /nodesByState|revision|breaker/);
  const again = hpctl(['apply', '-f', '-', '--dry-run'], exported.out);
  assert.deepEqual([again.code, again.out], [0, 'cluster demo is what the file says\n'], again.err);
  const json = JSON.parse(hpctl(['cluster', 'export', 'demo', '-o', 'json']).out);
  assert.deepEqual(json.instanceGroups.map((group) => [group.name, group.instanceCount]), [['gpu', 2]]);
});

test('a dry run tells what the server would refuse', async () => {
  write(spec(3, '  - {name: login, instanceCount: 1, provider: moon}\n'));
  const before = (await world.get('/v1/clusters/demo')).revision;
  const seen = apply('--dry-run');
  assert.match(seen.out, /^~ group gpu: instanceCount: 2 -> 3\n\+ group login: 1 node\n/);
  assert.notEqual(seen.code, 0);
  assert.match(seen.err, /moon/);
  assert.equal((await world.get('/v1/clusters/demo')).revision, before);
});

test('groups grow and come as the file says', async () => {
  write(spec(3, '  - {name: login, instanceCount: 1, provider: local}\n'));
  const seen = apply('--dry-run', '-o', 'json');
  assert.deepEqual(JSON.parse(seen.out), { cluster: 'demo', changes: ['~ group gpu: instanceCount: 2 -> 3', '+ group login: 1 node'], applied: false });
  const asked = JSON.parse(apply('--yes', '-o', 'json').out);
  assert.deepEqual([asked.applied, asked.operation.kind, asked.operation.cluster], [true, 'update-cluster', 'demo']);
  assert.equal(hpctl(['operation', 'wait', asked.operation.id]).code, 0);
  await allReady(4);
  assert.deepEqual((await names()).sort(), ['gpu-1', 'gpu-2', 'gpu-3', 'login-1']);
});

test('one node more, and one less, by hand', async () => {
  const added = hpctl(['node', 'add', '-g', 'gpu', '--idempotency-key', 'one-more']);
  assert.equal(added.code, 0, added.err);
  assert.match(added.out, /gpu-4/);
  assert.match(hpctl(['node', 'add', '-g', 'gpu', '--idempotency-key', 'one-more']).out, /gpu-4/, 'a repeat adds nothing');
  await allReady(5);
  assert.equal(hpctl(['node', 'add', '-g', 'nothing']).code, 5);
  assert.equal(hpctl(['node', 'remove', 'gpu-4']).code, 2, 'it asks first');
  const removed = hpctl(['node', 'remove', 'gpu-4', '--now', '--yes', '--reason', 'a test']);
  assert.equal(removed.code, 0, removed.err);
  await allReady(4);
  assert.ok(!(await names()).includes('gpu-4'));
  assert.equal((await world.get('/v1/clusters/demo')).instanceGroups.find((group) => group.name === 'gpu').instanceCount, 3);
});

test('groups shrink and go as the file says, and the others are not touched', async () => {
  const before = new Map((await world.list('/v1/clusters/demo/nodes')).map((node) => [node.name, node.instanceId]));
  write(spec(1));
  const done = apply('--yes');
  assert.equal(done.code, 0, done.err);
  assert.match(done.out, /^~ group gpu: instanceCount: 3 -> 1\n- group login: its 1 node goes\n/);
  await allReady(1);
  assert.deepEqual(await names(), ['gpu-1']);
  assert.equal((await world.node('gpu-1')).instanceId, before.get('gpu-1'));
  await until('the machines of the others are off', () => world.machines().length === 1, 60000);
  assert.deepEqual((await world.get('/v1/clusters/demo')).instanceGroups.map((group) => group.name), ['gpu']);
});

test('an unknown key is named with the nearest known one, and is no difference', async () => {
  for (const [from, to, says] of [
    ['instanceCount: 1', 'instanceCont: 1', /instanceGroups\[0\]: "instanceCont" is not known here \(the nearest is "instanceCount"\)/],
    ['orchestrator: none', 'orchestartor: none', /"orchestartor" is not known here \(the nearest is "orchestrator"\)/],
  ]) {
    write(spec(1).replace(from, to));
    for (const args of [['--dry-run'], ['--yes']]) {
      const run = apply(...args);
      assert.deepEqual([run.code, run.out], [2, ''], run.err);
      assert.match(run.err, says);
    }
  }
});

test('after a removal an exported file can be edited and applied, and applied again', async () => {
  write(spec(3));
  assert.equal(apply('--yes', '--wait').code, 0);
  assert.equal(hpctl(['node', 'remove', 'gpu-2', '--now', '--yes']).code, 0);
  await allReady(2);
  const exported = hpctl(['cluster', 'export', 'demo']).out;
  assert.match(exported, /nodeNames: "?gpu-1,gpu-3/);
  const edited = exported.replace('instanceCount: 2', 'instanceCount: 4');
  assert.notEqual(edited, exported);
  write(edited);
  const grown = apply('--yes', '--wait');
  assert.equal(grown.code, 0, grown.err);
  assert.equal(grown.out.split('\n')[0], '~ group gpu: instanceCount: 2 -> 4');
  assert.match(grown.err, /group gpu: nodeNames has 2 names and instanceCount is 4; the count holds/);
  await allReady(4);
  assert.equal(apply('--yes').out, 'cluster demo is what the file says\n');
  write(exported.replace('instanceCount: 2', 'instanceCount: 1'));
  assert.equal(apply('--yes', '--wait').code, 0);
  await allReady(1);
  assert.equal(apply('--yes').out, 'cluster demo is what the file says\n');
  write(spec(2, '    nodeNames: "gpu-7"\n')); // other names, and no count of theirs: the server refuses
  assert.match(apply('--yes').err, /nodeNames makes 1 name and instanceCount is 2/);
  write(spec(1, '    nodeNames: "gpu-1"\n'));
  apply('--yes');
  await allReady(1);
});

test('names in the file are the nodes of the group', async () => {
  write(spec(2, '    nodeNames: "gpu-1,special"\n'));
  assert.equal(apply('--yes').code, 0);
  await allReady(2);
  assert.deepEqual((await names()).sort(), ['gpu-1', 'special']);
  const again = apply('--dry-run');
  assert.equal(again.out, 'cluster demo is what the file says\n', again.err);
});

test('a software update rolls through a group and shows', async () => {
  const before = new Map((await world.list('/v1/clusters/demo/nodes')).map((node) => [node.name, node.instanceId]));
  const begun = hpctl(['cluster', 'update-software', 'demo', '--release', '1.2.3', '--batch', '1', '--wait', '--timeout', '5m']);
  assert.equal(begun.code, 0, begun.err);
  assert.match(begun.out, /update-software/);
  await until('it has rolled', async () => {
    const [group] = (await world.get('/v1/clusters/demo')).instanceGroups;
    return group.softwareUpdate.state === 'succeeded' && group.state === 'in-service';
  }, 120000);
  await allReady(2);
  for (const node of await world.list('/v1/clusters/demo/nodes')) assert.notEqual(node.instanceId, before.get(node.name), node.name);
  assert.match(hpctl(['cluster', 'describe', 'demo']).out, /gpu: software update to 1\.2\.3: succeeded/);
  assert.equal(hpctl(['cluster', 'update-software', 'demo', '--batch', '0']).code, 2);
  assert.equal(hpctl(['cluster', 'update-software', 'demo', '--release', 'new']).code, 2);
});

test('a deep check of a group tests its nodes with each other', async () => {
  assert.equal(hpctl(['cluster', 'check', 'demo']).code, 2);
  const begun = hpctl(['cluster', 'check', 'demo', '-g', 'gpu', '--check', 'connectivity']);
  assert.equal(begun.code, 0, begun.err);
  const ended = async () => (await world.list('/v1/checks?cluster=demo')).filter((one) => one.finishedAt);
  await until('both have ended', async () => (await ended()).length === 2, 240000);
  for (const check of await ended()) assert.equal(check.state, 'passed', JSON.stringify(check));
  await allReady(2);
});

test('the difference plays with nobody\'s terminal', () => {
  write(`${spec(2)}clusterRole: "\\e[31mred"\n`);
  const seen = apply('--dry-run');
  assert.match(seen.out, /clusterRole: .*\?\[31mred/);
  assert.equal(seen.code, 2);
  assert.match(seen.err, /clusterRole.*without control characters/);
  assert.ok(!(seen.out + seen.err).includes('\x1b'));
});

test('what cannot be is refused with a sentence, and nothing changes', async () => {
  const { revision } = await world.get('/v1/clusters/demo');
  write(spec(2).replace('orchestrator: none', 'orchestrator: slurm'));
  assert.match(apply('--yes').err, /orchestrator of a cluster cannot be changed/);
  write(spec(2).replace('threadsPerCore: 1', 'threadsPerCore: 9'));
  assert.match(apply('--yes').err, /threadsPerCore/);
  write('just text');
  assert.equal(apply('--yes').code, 2);
  write('name: demo\n');
  assert.match(apply('--yes').err, /instanceGroups/);
  assert.equal((await world.get('/v1/clusters/demo')).revision, revision);
});
