// Clusters and the timeline through the real AWS SDK: lists with filters, orders and pages, descriptions by name and ARN, and
// deletion. Nothing runs here: the nodes are of the manual provider, whose machines people start.
import * as sdk from '@aws-sdk/client-sagemaker';
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { aws } from '../lib/aws.mjs';
import { Local } from '../lib/local.mjs';
import { until } from '../lib/world.mjs';

const world = new Local();
const names = ['alpha', 'bravo', 'charlie', 'delta', 'echo-train', 'foxtrot-train'];
const made = ['delta', 'alpha', 'foxtrot-train', 'charlie', 'bravo', 'echo-train']; // in this order
const times = {};
let client;

before(async () => {
  await world.start();
  client = await aws(world, 'admin');
  for (const name of made) {
    const { status, body } = await world.call('POST', '/v1/clusters', {
      name, orchestrator: 'none', nodeRecovery: 'None',
      instanceGroups: [{ name: 'gpu', instanceCount: 3, instanceType: 'ml.p5.48xlarge', provider: 'manual' }, { name: 'cpu', instanceCount: 1, provider: 'manual' }],
    });
    assert.equal(status, 201, JSON.stringify(body));
    times[name] = Date.parse(body.createdAt);
    await until('the clock moves', () => Date.now() > times[name] + 1);
  }
});
after(() => world.end());

const list = async (input = {}) => (await client.send(new sdk.ListClustersCommand(input))).ClusterSummaries.map((c) => c.ClusterName);
const is = (type, pattern = /./) => (error) => {
  if (typeof type === 'string') assert.equal(error.name, type, error.message);
  else assert.ok(error instanceof type, `${error.name}: ${error.message}`);
  assert.match(error.message, pattern);
  return true;
};

test('ListClusters in every order', async () => {
  assert.deepEqual(await list(), made);
  assert.deepEqual(await list({ SortBy: 'CREATION_TIME', SortOrder: 'Descending' }), [...made].reverse());
  assert.deepEqual(await list({ SortBy: 'NAME' }), names);
  assert.deepEqual(await list({ SortBy: 'NAME', SortOrder: 'Descending' }), [...names].reverse());
});

test('ListClusters finds by name, time and training plan', async () => {
  assert.deepEqual(await list({ NameContains: 'train', SortBy: 'NAME' }), ['echo-train', 'foxtrot-train']);
  assert.deepEqual(await list({ NameContains: 'TRAIN' }), []);
  const at = (name) => new Date(times[name]);
  assert.deepEqual(await list({ CreationTimeAfter: at('foxtrot-train') }), made.slice(3));
  assert.deepEqual(await list({ CreationTimeBefore: at('foxtrot-train') }), made.slice(0, 2));
  assert.deepEqual(await list({ CreationTimeAfter: at('delta'), CreationTimeBefore: at('charlie') }), made.slice(1, 3));
  assert.deepEqual(await list({ TrainingPlanArn: 'arn:aws:sagemaker:us-west-2:000000000000:training-plan/x' }), []);
});

test('pages end, whatever their size and order', async () => {
  for (const SortBy of [undefined, 'NAME'])
    for (const SortOrder of ['Ascending', 'Descending'])
      for (const pageSize of [1, 2, 5, 6, 100]) {
        const seen = [];
        for await (const page of sdk.paginateListClusters({ client, pageSize }, { SortBy, SortOrder })) {
          assert.ok(page.ClusterSummaries.length <= pageSize);
          seen.push(...page.ClusterSummaries.map((c) => c.ClusterName));
        }
        const all = SortBy ? names : made;
        assert.deepEqual(seen, SortOrder === 'Descending' ? [...all].reverse() : all);
      }
});

test('a page token is good for its list and order only', async () => {
  const { NextToken } = await client.send(new sdk.ListClustersCommand({ MaxResults: 2, SortBy: 'NAME' }));
  assert.deepEqual(await list({ SortBy: 'NAME', NextToken }), names.slice(2));
  const bad = [NextToken.slice(0, -1), `${NextToken}A`, 'x', 'QWxpY2U', '!', ' '];
  for (const token of bad) await assert.rejects(list({ SortBy: 'NAME', NextToken: token }), is('ValidationException', /NextToken/), token);
  await assert.rejects(list({ NextToken }), is('ValidationException', /NextToken/));
  await assert.rejects(list({ SortBy: 'NAME', SortOrder: 'Descending', NextToken }), is('ValidationException'));
  await assert.rejects(client.send(new sdk.ListClusterNodesCommand({ ClusterName: 'alpha', NextToken })), is('ValidationException'));
});

test('wrong input is refused with the member and the rule', async () => {
  const cases = [
    [{ MaxResults: 0 }, /'maxResults'.*greater than or equal to 1/],
    [{ MaxResults: 101 }, /'maxResults'.*less than or equal to 100/],
    [{ SortBy: 'AGE' }, /'sortBy'.*\[CREATION_TIME, NAME\]/],
    [{ SortOrder: 'Up' }, /'sortOrder'/],
    [{ NameContains: 'a b' }, /'nameContains'/],
    [{ NameContains: 'a'.repeat(64) }, /'nameContains'/],
    [{ TrainingPlanArn: 'arn' }, /'trainingPlanArn'/],
    [{ NextToken: 'a'.repeat(8193) }, /'nextToken'/],
  ];
  for (const [input, pattern] of cases) await assert.rejects(list(input), is('ValidationException', pattern));
  await assert.rejects(list({ MaxResults: 'abc' }), is('SerializationException'));
  for (const name of ['Describe', 'Delete']) {
    const Command = sdk[`${name}ClusterCommand`];
    await assert.rejects(client.send(new Command({})), is('ValidationException', /'clusterName'.*must not be null/));
    for (const ClusterName of ['-a', 'a b', 'a'.repeat(64), 'arn:aws:sagemaker:us-west-2:000000000000:cluster/short', 'id:alpha'])
      await assert.rejects(client.send(new Command({ ClusterName })), is('ValidationException', /'clusterName'/), ClusterName);
  }
});

test('DescribeCluster by name and by ARN', async () => {
  const one = await client.send(new sdk.DescribeClusterCommand({ ClusterName: 'alpha' }));
  assert.match(one.ClusterArn, /^arn:aws:sagemaker:us-west-2:000000000000:cluster\/[a-z0-9]{12}$/);
  assert.equal(one.ClusterStatus, 'Creating');
  assert.equal(one.CreationTime.getTime(), times.alpha);
  assert.equal(one.NodeRecovery, 'None');
  assert.equal(one.NodeProvisioningMode, 'Continuous');
  assert.deepEqual(one.InstanceGroups.map((g) => [g.InstanceGroupName, g.InstanceType, g.TargetCount, g.Status]), [['gpu', 'ml.p5.48xlarge', 3, 'Creating'], ['cpu', 'manual', 1, 'Creating']]);
  const two = await client.send(new sdk.DescribeClusterCommand({ ClusterName: one.ClusterArn }));
  assert.deepEqual({ ...two, $metadata: 0 }, { ...one, $metadata: 0 });
  const elsewhere = one.ClusterArn.replace('us-west-2', 'eu-x-1'); // one cluster, seen from another region
  assert.equal((await client.send(new sdk.DescribeClusterCommand({ ClusterName: elsewhere }))).ClusterName, 'alpha');
});

test('what is not there is ResourceNotFound, as a class', async () => {
  const nobody = 'arn:aws:sagemaker:us-west-2:000000000000:cluster/abcdefghij12';
  const { ClusterArn } = await client.send(new sdk.DescribeClusterCommand({ ClusterName: 'alpha' }));
  for (const ClusterName of ['nothing', 'ALPHA', nobody, ClusterArn.replace('000000000000', '123456789012')]) {
    for (const name of ['DescribeCluster', 'DeleteCluster', 'ListClusterNodes', 'ListClusterEvents'])
      await assert.rejects(client.send(new sdk[`${name}Command`]({ ClusterName })), is(sdk.ResourceNotFound), `${name} ${ClusterName}`);
    await assert.rejects(client.send(new sdk.DescribeClusterNodeCommand({ ClusterName, NodeLogicalId: 'gpu-1' })), is(sdk.ResourceNotFound));
    await assert.rejects(client.send(new sdk.BatchRebootClusterNodesCommand({ ClusterName, NodeLogicalIds: ['gpu-1'] })), is(sdk.ResourceNotFound));
    await assert.rejects(client.send(new sdk.DescribeClusterEventCommand({ ClusterName, EventId: '00000000-0000-0000-0000-000000000000' })), is(sdk.ResourceNotFound));
  }
});

test('events: newest first, filtered, paged, and one by its id', async () => {
  const { Events } = await client.send(new sdk.ListClusterEventsCommand({ ClusterName: 'alpha' }));
  assert.ok(Events.length > 1);
  const ids = Events.map((e) => e.EventId);
  assert.equal(new Set(ids).size, ids.length);
  assert.ok(Events.every((e, i) => i === 0 || e.EventTime <= Events[i - 1].EventTime));
  assert.ok(Events.every((e) => e.ClusterName === 'alpha' && /^[0-9a-f]{8}-[0-9a-f]{4}-8/.test(e.EventId) && e.Description));
  const up = [];
  for await (const page of sdk.paginateListClusterEvents({ client, pageSize: 1 }, { ClusterName: 'alpha', SortOrder: 'Ascending' })) up.push(...page.Events.map((e) => e.EventId));
  assert.deepEqual(up.slice(0, ids.length), [...ids].reverse()); // more may have come
  const first = await client.send(new sdk.ListClusterEventsCommand({ ClusterName: 'alpha', ResourceType: 'Cluster' }));
  assert.ok(first.Events.length > 0 && first.Events.every((e) => e.ResourceType === 'Cluster' && e.InstanceId === undefined));
  const nodes = await client.send(new sdk.ListClusterEventsCommand({ ClusterName: 'alpha', InstanceGroupName: 'gpu' }));
  assert.ok(nodes.Events.every((e) => e.InstanceGroupName === 'gpu'));
  assert.deepEqual((await client.send(new sdk.ListClusterEventsCommand({ ClusterName: 'alpha', EventTimeAfter: new Date(Date.now() + 60000) }))).Events, []);
  for (const summary of Events.slice(0, 5)) {
    const { EventDetails } = await client.send(new sdk.DescribeClusterEventCommand({ ClusterName: 'alpha', EventId: summary.EventId }));
    const { EventDetails: details, ...rest } = EventDetails;
    assert.deepEqual(rest, summary);
    assert.deepEqual(Object.keys(details.EventMetadata), [summary.ResourceType]);
    await assert.rejects(client.send(new sdk.DescribeClusterEventCommand({ ClusterName: 'bravo', EventId: summary.EventId })), is(sdk.ResourceNotFound));
  }
  await assert.rejects(client.send(new sdk.DescribeClusterEventCommand({ ClusterName: 'alpha', EventId: 'x' })), is('ValidationException', /'eventId'/));
});

test('DeleteCluster by ARN: Deleting, then gone, and the name is free again', async () => {
  const { ClusterArn } = await client.send(new sdk.DescribeClusterCommand({ ClusterName: 'delta' }));
  assert.equal((await client.send(new sdk.DeleteClusterCommand({ ClusterName: ClusterArn }))).ClusterArn, ClusterArn);
  const statuses = new Set();
  await until('it is gone', async () => {
    try {
      statuses.add((await client.send(new sdk.DescribeClusterCommand({ ClusterName: 'delta' }))).ClusterStatus);
      return false;
    } catch (error) {
      return is(sdk.ResourceNotFound)(error);
    }
  });
  assert.deepEqual([...statuses].filter((s) => s !== 'Deleting'), []);
  await assert.rejects(client.send(new sdk.DeleteClusterCommand({ ClusterName: ClusterArn })), is(sdk.ResourceNotFound));
  assert.deepEqual(await list(), made.slice(1));
});
