// Attached to a Slurm that exists: what it has is found out, groups are made of its partitions and features, and nothing of its
// configuration is written. Nobody plays the nodes: slurmctld knows them from its file.
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { assertValid, operations } from '../api/contract.mjs';
import { World, until } from '../lib/world.mjs';

for (const way of ['here', 'rest+ssh']) describe(`a Slurm spoken to by ${way}`, () => {
  let world, conf, written;
  const file = (name, text) => {
    const path = join(world.dir, name);
    writeFileSync(path, typeof text === 'string' ? text : JSON.stringify(text));
    return path;
  };
  // What the site writes; slurmctld reads it again.
  const site = (change) => {
    written = change(readFileSync(conf, 'utf8'));
    writeFileSync(conf, written);
    world.slurmRun('scontrol', 'reconfigure');
  };
  const seen = async (what, check) => until(what, () => {
    const view = world.json('scheduler', 'describe');
    return view.partitions && check(view) && view;
  });
  const part = (view, name) => [...view.partitions, ...view.features].find((p) => p.name === name);
  const drift = () => world.events({ kind: 'scheduler-drift' });
  const check = (operation, status, value) =>
    assertValid(operations.get(operation).responses[status].content['application/json'].schema, value, `${operation} ${status}`);
  const ask = async (path, status, operation) => {
    const reply = await fetch(`${world.url}${path}`, { headers: { authorization: `Bearer ${world.token}` } });
    assert.equal(reply.status, status, path);
    const json = await reply.json();
    if (operation) check(operation, status, json);
    return json;
  };
  const patch = async (status, group) => {
    const headers = { authorization: `Bearer ${world.token}`, 'content-type': 'application/json' };
    const reply = await fetch(`${world.url}/v1/clusters/site`, { method: 'PATCH', headers, body: JSON.stringify({ instanceGroups: [group] }) });
    const json = await reply.json();
    assert.equal(reply.status, status, JSON.stringify(json));
    return json;
  };
  const cluster = (...instanceGroups) => ({ name: 'site', nodeRecovery: 'None', instanceGroups });
  const train = { name: 'train', provider: 'manual', nodesFrom: { partition: 'gpu', feature: 'h100' } };
  const prep = { name: 'prep', provider: 'manual', nodesFrom: { feature: 'cpu' } };

  before(async () => {
    world = new World({ way, nodes: 7, cluster: false, config: {} });
    world.wayConfig = ((own) => () => ({ ...own.call(world), jobSnapshotInterval: '300ms' }))(world.wayConfig);
    await world.start();
    conf = join(world.slurm, 'slurm.conf');
    site((text) => text.replace(/^(NodeName=gpu-[1-4] .*)$/gm, '$1 Feature=h100,nvlink').replace(/^(NodeName=gpu-[56] .*)$/gm, '$1 Feature=cpu') +
      'PartitionName=gpu Nodes=gpu-[1-4]\nPartitionName=prep_cpu Nodes=gpu-[5-6]\n');
    await seen('the partitions are seen', (view) => part(view, 'gpu') && part(view, 'cpu'));
  });
  after(() => world?.end());

  test('what it has is shown, with what is in no group, and as a file for apply', async () => {
    const view = await ask('/v1/scheduler', 200, 'describeOnlyScheduler');
    assert.equal(view.scheduler.configuration, 'attach');
    assert.deepEqual([view.nodeCount, view.unassignedCount], [7, 7]);
    assert.deepEqual(view.partitions.map((p) => [p.name, p.nodes, p.unassigned, p.features.join()]), [
      ['dev', 'gpu-[1-7]', 'gpu-[1-7]', 'cpu,h100,nvlink'], ['gpu', 'gpu-[1-4]', 'gpu-[1-4]', 'h100,nvlink'], ['prep_cpu', 'gpu-[5-6]', 'gpu-[5-6]', 'cpu']]);
    assert.deepEqual(view.features.map((f) => [f.name, f.nodeCount, f.partitions.join()]), [['cpu', 2, 'dev,prep_cpu'], ['h100', 4, 'dev,gpu'], ['nvlink', 4, 'dev,gpu']]);
    const page = await ask('/v1/scheduler/nodes?feature=h100&limit=3', 200, 'listOnlySchedulerNodes');
    assert.deepEqual(page.items.map((n) => [n.name, n.features.join(), n.group]), ['gpu-1', 'gpu-2', 'gpu-3'].map((n) => [n, 'h100,nvlink', undefined]));
    const rest = await ask(`/v1/scheduler/nodes?feature=h100&limit=3&cursor=${page.nextCursor}`, 200, 'listOnlySchedulerNodes');
    assert.deepEqual([rest.items.map((n) => n.name).join(), rest.nextCursor], ['gpu-4', undefined]);

    const shown = world.hpctl('scheduler', 'describe');
    assert.match(shown.out, /^PARTITION +COUNT +NODES +FEATURES +IN NO GROUP$/m);
    assert.match(shown.out, /Nobody looks after nodes that are in no group/);
    assert.match(world.hpctl('scheduler', 'nodes', '--partition', 'prep_cpu').out, /^gpu-5 +\S+ +dev,prep_cpu +cpu /m);
    assert.match(world.hpctl('scheduler', 'nodes', '--partition', 'nobody').out, /the scheduler has no such node/);

    const made = world.hpctl('scheduler', 'discover', 'site');
    assert.equal(made.code, 0, made.err);
    assert.match(made.out, /^name: site$/m);
    const groups = world.json('scheduler', 'discover', 'site').instanceGroups;
    assert.deepEqual(groups, [{ name: 'prep-cpu', provider: 'manual', nodesFrom: { partition: 'prep_cpu' } },
      { name: 'gpu', provider: 'manual', nodesFrom: { partition: 'gpu' } }, { name: 'dev', provider: 'manual', instanceCount: 1, nodeNames: 'gpu-7' }]);
    const dry = world.hpctl('apply', '-f', file('made.yaml', made.out), '--dry-run');
    assert.equal(dry.code, 0, dry.err);
    assert.match(dry.out, /\+ group gpu: 4 nodes/);
    const byFeature = world.hpctl('scheduler', 'discover', '--by', 'feature');
    assert.match(byFeature.err, /the feature nvlink gets no group: all of its nodes are in others/);
    assert.match(byFeature.err, /1 node without a feature: in no group/);
    assert.equal(world.hpctl('scheduler', 'discover', '--by', 'colour').code, 2);
  });

  test('groups are made of a partition and of features, and a second apply has nothing to do', async () => {
    const path = file('site.yaml', cluster(train, prep));
    const first = world.hpctl('apply', '-f', path, '--yes');
    assert.equal(first.code, 0, first.err);
    const shown = await ask('/v1/clusters/site', 200, 'describeCluster');
    assert.deepEqual(shown.instanceGroups.map((g) => [g.name, g.instanceCount, g.nodesFrom]), [['train', 4, { partition: 'gpu', feature: 'h100' }], ['prep', 2, { feature: 'cpu' }]]);
    assert.deepEqual(world.json('node', 'list', '--group', 'train').map((n) => n.name), ['gpu-1', 'gpu-2', 'gpu-3', 'gpu-4']);
    assert.match(world.hpctl('apply', '-f', path, '--yes').out, /is what the file says/);
    assert.match(world.hpctl('apply', '-f', file('export.yaml', world.hpctl('cluster', 'export', 'site').out), '--yes').out, /is what the file says/);
    const view = await seen('six nodes have their group', (v) => v.unassignedCount === 1);
    assert.equal(part(view, 'dev').unassigned, 'gpu-7');
    assert.deepEqual(world.json('scheduler', 'nodes', '--unassigned').map((n) => n.name), ['gpu-7']);
    assert.deepEqual(world.json('scheduler', 'nodes', '--feature', 'cpu').map((n) => `${n.cluster}/${n.group}`), ['site/prep', 'site/prep']);
  });

  test('what the site changes is told once, changes no group, and is taken over by apply', async () => {
    // One after the other: slurmctld shows the partition before the feature for a moment, and that would be two changes.
    site((text) => text.replace(/^(NodeName=gpu-7 .*)$/m, '$1 Feature=h100'));
    await until('gpu-7 has the feature', () => world.json('scheduler', 'nodes', '--feature', 'h100').some((n) => n.name === 'gpu-7'));
    site((text) => text.replace('PartitionName=gpu Nodes=gpu-[1-4]', 'PartitionName=gpu Nodes=gpu-[1-3],gpu-7'));
    const [event] = await until('it is told', () => drift().length > 0 && drift());
    assert.equal(event.level, 'warn');
    assert.equal(event.message, 'the group train was made of the scheduler\'s partition gpu feature h100 and has other nodes now: the scheduler has there also gpu-7, ' +
      'and no longer gpu-4. It stays as it is; hpctl apply with its file makes it so.');
    assert.equal(world.json('cluster', 'describe', 'site').instanceGroups.find((g) => g.name === 'train').instanceCount, 4);
    const at = Date.parse(world.json('scheduler', 'describe').seenAt);
    await seen('it was read again', (view) => Date.parse(view.seenAt) > at);
    assert.equal(drift().length, 1);

    // What was seen before is not what is there now.
    const stale = await patch(400, { ...train, provider: undefined, instanceCount: 4, nodeNames: 'gpu-[1-4]' });
    assert.match(stale.detail, /the scheduler has 4 nodes for its nodesFrom now, and not those that nodeNames and instanceCount say/);
    const path = join(world.dir, 'site.yaml');
    const dry = world.hpctl('apply', '-f', path, '--dry-run').out;
    assert.match(dry, /^- group train: 1 of its nodes goes: gpu-4$/m);
    const run = world.hpctl('apply', '-f', path, '--yes');
    assert.equal(run.code, 0, run.err);
    await until('gpu-7 is in the group, and gpu-4 leaves it', () => {
      const nodes = world.json('node', 'list', '--group', 'train').filter((n) => n.state !== 'deleting');
      return nodes.map((n) => n.name).join() === 'gpu-1,gpu-2,gpu-3,gpu-7';
    });
    assert.equal(readFileSync(conf, 'utf8'), written); // the site's, to the last letter
  });

  test('who says nodes or a count by hand has a group of its own again', async () => {
    await until('the last change is done', () => world.json('cluster', 'describe', 'site').instanceGroups.find((g) => g.name === 'prep').nodesFrom);
    const names = file('names.json', cluster(train, { name: 'prep', provider: 'manual', instanceCount: 2, nodeNames: 'gpu-[5-6]' }));
    const run = world.hpctl('apply', '-f', names, '--yes');
    assert.equal(run.code, 0, run.err);
    assert.match(run.out, /is what the file says/); // they are the same nodes
    await patch(202, { name: 'prep', instanceCount: 2, nodeNames: 'gpu-[5-6]' });
    assert.equal(world.json('cluster', 'describe', 'site').instanceGroups.find((g) => g.name === 'prep').nodesFrom, undefined);
  });

  test('what cannot be is refused, and says what to do', async () => {
    const refuse = (group, expected, more = {}) => {
      const run = world.hpctl('cluster', 'create', '-f', file('bad.json', { ...cluster(group), name: 'bad', ...more }));
      assert.notEqual(run.code, 0, run.out);
      assert.match(run.err, expected);
    };
    refuse({ name: 'a', nodesFrom: { partition: 'nobody' } }, /The scheduler has no node in the partition nobody: hpctl scheduler describe shows/);
    refuse({ name: 'a', nodesFrom: { partition: 'gpu', feature: 'cpu' } }, /The scheduler has no node in the partition gpu with the feature cpu/);
    refuse({ name: 'a', nodesFrom: {} }, /must name a partition, a feature, or both/);
    refuse({ name: 'a', nodesFrom: { partition: 'a,b' } }, /partition is "a,b"; it must be one name of a partition/);
    refuse({ name: 'a', nodesFrom: { partition: 'gpu', colour: 'red' } }, /colour/);
    refuse({ name: 'a', nodesFrom: 'gpu' }, /nodesFrom is "gpu"; it must be an object/);
    refuse({ name: 'a', instanceCount: 3, nodesFrom: { partition: 'gpu' } }, /the scheduler has 4 nodes for its nodesFrom now/);
    refuse({ name: 'a', nodesFrom: { partition: 'gpu' } }, /"gpu-1" belongs to the cluster "site" already/);
    refuse({ name: 'a', nodesFrom: { partition: 'gpu' } }, /orchestrator none/, { orchestrator: 'none' });
    assert.equal((await ask('/v1/scheduler/nodes?unassigned=perhaps', 400)).code, 'invalid-value');

    world.lab('end', world.slurm, 'slurmctld');
    await until('it is not known any more what Slurm has', () => {
      const run = world.hpctl('scheduler', 'discover');
      return run.code === 3 && /The nodes of the scheduler are not known now: /.test(run.err);
    });
    // How it is, is known all the same.
    const away = world.hpctl('scheduler', 'describe');
    assert.equal(away.code, 0, away.err);
    assert.match(away.out, /^State +down$/m);
    assert.match(away.out, /^Nodes +The nodes of the scheduler are not known now: /m);
    assert.doesNotMatch(away.out, /PARTITION/);
  });
});
