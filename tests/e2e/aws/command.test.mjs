// A second family of clients: the `aws` command, which is botocore. It is told of HyperPod's operations by a description made
// of our own model, and then lists, describes, creates, waits, scales and deletes, knowing nothing of Holdfast.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { accessKey } from '../lib/aws.mjs';
import { model, writePaginators, writeService } from '../lib/botocore.mjs';
import { Local } from '../lib/local.mjs';
import { until } from '../lib/world.mjs';

const SERVICE = 'hyperpod';
const REGION = 'eu-central-1';
const command = process.env.AWS_COMMAND ?? '/usr/bin/aws'; // of Debian's package awscli; another one may be older or newer
const skip = existsSync(command) ? false : `there is no ${command}: scripts/deps test installs it`;

const world = new Local();
const keys = {};

// One run of the command. {code, out, err}; out is JSON where there is any.
function run(args, { role = 'admin', env = {} } = {}) {
  const done = spawnSync(command, args, {
    encoding: 'utf8', timeout: 120000,
    env: {
      PATH: process.env.PATH, HOME: world.dir, AWS_PAGER: '', AWS_DEFAULT_REGION: REGION, AWS_DEFAULT_OUTPUT: 'json', AWS_EC2_METADATA_DISABLED: 'true', AWS_MAX_ATTEMPTS: '1',
      ...(keys[role] && { AWS_ACCESS_KEY_ID: keys[role].accessKeyId, AWS_SECRET_ACCESS_KEY: keys[role].secretAccessKey }), ...env,
    },
  });
  assert.equal(done.error, undefined);
  return { code: done.status, out: done.stdout.trim() ? JSON.parse(done.stdout) : undefined, err: done.stderr.trim() };
}

const call = (operation, input = {}, { options = [], ...more } = {}) =>
  run([SERVICE, operation, '--endpoint-url', `http://127.0.0.1:${world.port}`, '--cli-input-json', JSON.stringify(input), ...options], more);

function must(operation, input, more) {
  const { code, out, err } = call(operation, input, more);
  assert.equal(code, 0, `${operation}: ${err}`);
  return out;
}

function refused(error, operation, input, more) {
  const { code, err } = call(operation, input, more);
  assert.ok(code === 254 || code === 255, err); // the service answered with an error, as versions 2 and 1 say it
  assert.match(err, new RegExp(`An error occurred \\(${error}\\) when calling the ${operation.split('-').map((w) => w[0].toUpperCase() + w.slice(1)).join('')} operation`));
  return err;
}

const group = (name, count, more = {}) => ({ InstanceGroupName: name, InstanceType: 'ml.t3.medium', InstanceCount: count, ExecutionRole: 'arn:aws:iam::000000000000:role/node', ...more });

before(async () => {
  if (skip) return;
  await world.start();
  for (const role of ['admin', 'viewer']) keys[role] = await accessKey(world, role);
  mkdirSync(join(world.dir, '.aws'));
  writeFileSync(join(world.dir, '.aws/config'), '[default]\ncli_timestamp_format = iso8601\n'); // version 1 shows them as they come
  const added = spawnSync(command, ['configure', 'add-model', '--service-model', `file://${writeService(world.dir)}`, '--service-name', SERVICE], { encoding: 'utf8', env: { PATH: process.env.PATH, HOME: world.dir } });
  assert.equal(added.status, 0, added.stderr);
  writePaginators(world.dir, SERVICE);
});
after(() => world.end());

test('a cluster is created, waited for, listed and described', { skip }, async () => {
  assert.deepEqual(must('list-clusters').ClusterSummaries, []);
  const { ClusterArn } = must('create-cluster', { ClusterName: 'train', InstanceGroups: [group('gpu', 2), group('cpu', 1)], NodeRecovery: 'Automatic', Tags: [{ Key: 'team', Value: 'één' }] });
  assert.match(ClusterArn, new RegExp(`^arn:aws:sagemaker:${REGION}:000000000000:cluster/[a-z0-9]{12}$`));
  const seen = new Set();
  const cluster = await until('InService', () => {
    const now = must('describe-cluster', { ClusterName: 'train' });
    seen.add(now.ClusterStatus);
    return now.ClusterStatus === 'InService' && now;
  }, 120000);
  assert.deepEqual([...seen].filter((status) => !['Creating', 'InService'].includes(status)), []);
  assert.equal(cluster.ClusterArn, ClusterArn);
  assert.equal(cluster.NodeRecovery, 'Automatic');
  assert.deepEqual(cluster.InstanceGroups.map((g) => [g.InstanceGroupName, g.InstanceType, g.CurrentCount, g.TargetCount]).sort(), [['cpu', 'ml.t3.medium', 1, 1], ['gpu', 'ml.t3.medium', 2, 2]]);
  assert.ok(Math.abs(Date.parse(cluster.CreationTime) - Date.now()) < 600000, cluster.CreationTime); // it reads our times
  assert.deepEqual(must('describe-cluster', { ClusterName: ClusterArn }), cluster);
  assert.deepEqual(must('list-clusters').ClusterSummaries.map((c) => [c.ClusterName, c.ClusterStatus, c.ClusterArn]), [['train', 'InService', ClusterArn]]);
  assert.deepEqual(must('list-tags', { ResourceArn: ClusterArn }).Tags, [{ Key: 'team', Value: 'één' }]);
});

test('nodes are listed, page by page by itself, and described', { skip }, async () => {
  const all = must('list-cluster-nodes', { ClusterName: 'train' }).ClusterNodeSummaries;
  assert.deepEqual(all.map((n) => [n.InstanceGroupName, n.InstanceStatus.Status]).sort(), [['cpu', 'Running'], ['gpu', 'Running'], ['gpu', 'Running']]);
  assert.deepEqual(must('list-cluster-nodes', { ClusterName: 'train' }, { options: ['--page-size', '1'] }).ClusterNodeSummaries, all);
  for (const { InstanceId } of all) {
    const { NodeDetails } = must('describe-cluster-node', { ClusterName: 'train', NodeId: InstanceId });
    assert.equal(NodeDetails.InstanceId, InstanceId);
    assert.equal(NodeDetails.InstanceStatus.Status, 'Running');
  }
  assert.ok(must('list-cluster-events', { ClusterName: 'train' }).Events.length > 0);
});

test('what is wrong is an error that it names', { skip }, () => {
  refused('ResourceNotFound', 'describe-cluster', { ClusterName: 'nothing' });
  assert.match(refused('ValidationException', 'describe-cluster', { ClusterName: 'not a name' }), /at 'clusterName'/);
  refused('ResourceInUse', 'create-cluster', { ClusterName: 'train', InstanceGroups: [group('gpu', 1)] });
  refused('AccessDeniedException', 'delete-cluster', { ClusterName: 'train' }, { role: 'viewer' });
  refused('InvalidSignatureException', 'list-clusters', {}, { env: { AWS_SECRET_ACCESS_KEY: 'wrong' } });
  refused('UnrecognizedClientException', 'list-clusters', {}, { env: { AWS_SESSION_TOKEN: 'token' } });
});

test('it knows every operation of the model', { skip }, () => {
  const { err } = run([SERVICE, 'no-such-operation']);
  const names = Object.keys(model().operations).map((name) => name.replace(/(?<=[a-z0-9])(?=[A-Z])/g, '-').toLowerCase());
  for (const name of names) assert.match(err, new RegExp(`\\b${name}\\b`));
});

test('a cluster is deleted, and waited for', { skip }, async () => {
  const { ClusterArn } = must('delete-cluster', { ClusterName: 'train' });
  await until('it is gone', () => {
    const { code, out, err } = call('describe-cluster', { ClusterName: ClusterArn });
    if (code === 0) assert.equal(out.ClusterStatus, 'Deleting');
    else assert.match(err, /\(ResourceNotFound\)/);
    return code !== 0;
  }, 120000);
  assert.deepEqual(must('list-clusters').ClusterSummaries, []);
  await until('its machines are off', () => world.machines().length === 0);
});
