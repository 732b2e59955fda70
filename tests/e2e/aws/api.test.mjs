// Who comes in through the AWS API: signatures, clocks, keys and roles, tried with the real SDK and with requests that no
// SDK would send.
import * as sdk from '@aws-sdk/client-sagemaker';
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { accessKey, aws } from '../lib/aws.mjs';
import { Local } from '../lib/local.mjs';
import { sign } from '../lib/sigv4.mjs';

const world = new Local({ config: { awsPathPrefix: '/hyperpod' } });
let key, url, admin;

before(async () => {
  await world.start();
  url = `http://127.0.0.1:${world.port}`;
  admin = await aws(world, 'admin');
  key = await accessKey(world, 'viewer');
  const made = await world.call('POST', '/v1/clusters', { name: 'train', orchestrator: 'none', instanceGroups: [{ name: 'gpu', instanceCount: 1, provider: 'manual' }] });
  assert.equal(made.status, 201);
});
after(() => world.end());

const named = (name, http) => (error) => {
  assert.equal(error.name, name, error.message);
  assert.ok(error instanceof sdk.SageMakerServiceException);
  assert.match(error.$metadata.requestId, /^[0-9a-f-]{36}$/);
  if (http) assert.equal(error.$metadata.httpStatusCode, http);
  return true;
};

async function raw(headers, body, { path = '/', method = 'POST' } = {}) {
  const reply = await fetch(`${url}${path}`, { method, headers: { 'content-type': 'application/x-amz-json-1.1', ...headers }, body });
  return { status: reply.status, type: reply.headers.get('content-type'), date: reply.headers.get('date'), id: reply.headers.get('x-amzn-requestid'), ...JSON.parse(await reply.text()) };
}

function ask(over = {}) {
  const { target = 'SageMaker.ListClusters', body = '{}', sent = body, path = '/', extra = {}, ...more } = over;
  const headers = sign(`${url}${path}`, { target, body, key: key.accessKeyId, secret: key.secretAccessKey, ...more });
  return raw({ ...headers, ...extra }, sent, { path });
}

test('a signed request comes in, from any region and behind any prefix', async () => {
  for (const region of ['us-west-2', 'eu-x-1', 'hp-local-1']) {
    const client = await aws(world, 'viewer', { region });
    const { ClusterSummaries } = await client.send(new sdk.ListClustersCommand({}));
    assert.match(ClusterSummaries[0].ClusterArn, new RegExp(`^arn:aws:sagemaker:${region}:000000000000:cluster/[a-z0-9]{12}$`));
  }
  const client = await aws(world, 'viewer', { endpoint: `${url}/hyperpod/api` });
  assert.equal((await client.send(new sdk.DescribeClusterCommand({ ClusterName: 'train' }))).ClusterName, 'train');
});

test('a proxy may cut the prefix that it is told of, and no other', async () => {
  const cut = async (signed, sent) => {
    const headers = sign(`${url}${signed}`, { target: 'SageMaker.ListClusters', body: '{}', key: key.accessKeyId, secret: key.secretAccessKey });
    return (await raw(headers, '{}', { path: sent })).__type;
  };
  assert.equal(await cut('/hyperpod/', '/'), undefined);
  assert.equal(await cut('/hyperpod/api/', '/api/'), undefined);
  assert.equal(await cut('/api/', '/api/'), undefined);
  for (const [signed, sent] of [['/elsewhere/', '/'], ['/hyperpod/', '/api/'], ['/hyperpod/api/', '/'], ['/api/', '/']])
    assert.equal(await cut(signed, sent), 'InvalidSignatureException', `${signed} as ${sent}`);
});

test('who cannot sign stays outside', async () => {
  const one = { maxAttempts: 1 };
  const wrong = await aws(world, 'viewer', { ...one, credentials: { ...key, secretAccessKey: 'wrong' } });
  await assert.rejects(wrong.send(new sdk.ListClustersCommand({})), named('InvalidSignatureException', 403));
  const nobody = await aws(world, 'viewer', { ...one, credentials: { accessKeyId: 'HFAKAAAAAAAAAAAAAAAA', secretAccessKey: 'x' } });
  await assert.rejects(nobody.send(new sdk.ListClustersCommand({})), named('UnrecognizedClientException', 403));
  const session = await aws(world, 'viewer', { ...one, credentials: { ...key, sessionToken: 'token' } });
  await assert.rejects(session.send(new sdk.ListClustersCommand({})), named('UnrecognizedClientException', 403));
  const none = await raw({ 'x-amz-target': 'SageMaker.ListClusters' }, '{}');
  assert.deepEqual([none.status, none.__type], [403, 'MissingAuthenticationTokenException']);
  const bearer = await raw({ 'x-amz-target': 'SageMaker.ListClusters', authorization: `Bearer ${world.token}` }, '{}');
  assert.equal(bearer.__type, 'MissingAuthenticationTokenException');
});

test('what was signed is what must come', async () => {
  assert.equal((await ask()).status, 200);
  assert.equal((await ask({ sent: '{"MaxResults":1}' })).__type, 'InvalidSignatureException');
  assert.equal((await ask({ extra: { 'x-amz-target': 'SageMaker.DeleteCluster' } })).__type, 'InvalidSignatureException');
  assert.equal((await ask({ service: 's3' })).__type, 'InvalidSignatureException');
  assert.equal((await ask({ extra: { 'x-amz-content-sha256': 'f'.repeat(64) } })).__type, 'InvalidSignatureException');
  const query = sign(`${url}/`, { target: 'SageMaker.ListClusters', body: '{}', key: key.accessKeyId, secret: key.secretAccessKey });
  assert.equal((await raw(query, '{}', { path: '/?Action=ListClusters' })).status, 400);
});

test('a wrong clock is refused, and the SDK sets it right by our Date', async (t) => {
  for (const minutes of [-6, 6, 60, -24 * 60]) {
    const refused = await ask({ at: new Date(Date.now() + minutes * 60000) });
    assert.deepEqual([refused.status, refused.__type], [403, 'InvalidSignatureException'], `${minutes} min`);
    assert.ok(Math.abs(Date.parse(refused.date) - Date.now()) < 5000);
  }
  assert.equal((await ask({ at: new Date(Date.now() + 4 * 60000) })).status, 200);
  const now = Date.now;
  for (const offset of [3600000, -3600000]) {
    const client = await aws(world, 'viewer');
    t.mock.method(Date, 'now', () => now() + offset); // the client's machine
    const { $metadata } = await client.send(new sdk.ListClustersCommand({}));
    assert.equal($metadata.attempts, 2);
    assert.equal((await client.send(new sdk.ListClustersCommand({}))).$metadata.attempts, 1);
    t.mock.restoreAll();
  }
});

test('errors have the form that every SDK reads', async () => {
  const unknown = await ask({ target: 'SageMaker.CreateModel' });
  assert.deepEqual([unknown.status, unknown.__type, unknown.type], [400, 'UnknownOperationException', 'application/x-amz-json-1.1']);
  assert.match(unknown.id, /^[0-9a-f]{8}-/);
  assert.equal((await ask({ target: 'SageMaker.' })).__type, 'UnknownOperationException');
  assert.equal((await ask({ target: 'Elsewhere.ListClusters' })).__type, 'UnknownOperationException');
  for (const body of ['{', '[]', 'null', '{"MaxResults":"abc"}', '\u0000']) assert.equal((await ask({ body })).__type, 'SerializationException', body);
  for (const body of ['', '{}', '{"Unknown":1}', '{"MaxResults":null}', '{"MaxResults":1e1}']) assert.equal((await ask({ body })).status, 200, body);
  const large = await ask({ body: `{"NameContains":"${'a'.repeat(1100000)}"}` });
  assert.deepEqual([large.status, large.__type], [413, 'RequestEntityTooLargeException']);
  assert.equal((await fetch(`${url}/v1/clusters/`, { method: 'POST' })).status, 404);
});

const NAMED = ['DescribeTrainingPlan', 'DescribeTrainingPlanExtensionHistory', 'DescribeReservedCapacity', 'ListUltraServersByReservedCapacity'];

// Who may call which operation is api/access.test.mjs's.
test('there are no training plans: lists are empty, none is found, and none is sold', async () => {
  assert.deepEqual((await admin.send(new sdk.ListTrainingPlansCommand({ MaxResults: 5 }))).TrainingPlanSummaries, []);
  assert.deepEqual((await admin.send(new sdk.SearchTrainingPlanOfferingsCommand({ DurationHours: 24, TargetResources: ['hyperpod-cluster'] }))).TrainingPlanOfferings, []);
  const pages = [];
  for await (const page of sdk.paginateListTrainingPlans({ client: admin }, {})) pages.push(page);
  assert.equal(pages.length, 1);
  for (const name of NAMED) await assert.rejects(admin.send(new sdk[`${name}Command`]({})), named('ResourceNotFound', 400));
  for (const name of ['CreateTrainingPlan', 'ExtendTrainingPlan'])
    await assert.rejects(admin.send(new sdk[`${name}Command`]({})), (error) => {
      assert.match(error.message, new RegExp(`^${name}: this server sells no training plans`));
      return named('UnsupportedOperationException', 400)(error);
    });
});

test('a deleted key is worthless at once', async () => {
  const credentials = await accessKey(world, 'admin');
  const client = await aws(world, 'admin', { credentials });
  await client.send(new sdk.ListClustersCommand({}));
  assert.equal((await world.call('DELETE', `/v1/access-keys/${credentials.accessKeyId}`)).status, 204);
  await assert.rejects(client.send(new sdk.ListClustersCommand({})), named('UnrecognizedClientException', 403));
});

test('keys outlive a restart, and the store alone does not have their secrets', async () => {
  const { readFileSync, readdirSync, statSync } = await import('node:fs');
  assert.equal(await world.stopHpd(), 0);
  assert.equal(statSync(`${world.state}/secret.key`).mode & 0o777, 0o600);
  for (const file of readdirSync(world.state).filter((f) => f.startsWith('holdfast.db')))
    assert.ok(!readFileSync(`${world.state}/${file}`).includes(key.secretAccessKey), file);
  await world.start();
  assert.equal((await ask()).status, 200);
});
