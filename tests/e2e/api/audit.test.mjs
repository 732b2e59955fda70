// The audit log as an administrator meets it: every change through either API, with who, whence, what and how it ended;
// nothing that only reads; no secret; and all of it still there after a kill.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { after, before, test } from 'node:test';
import { Local } from '../lib/local.mjs';
import { hpctlPath } from '../lib/programs.mjs';
import { sign } from '../lib/sigv4.mjs';
import { until } from '../lib/world.mjs';

const world = new Local();
const secrets = []; // whatever must be nowhere in the log
let operator, key, viewerKey;

before(async () => {
  await world.start();
  secrets.push(world.token);
});
after(() => world.end());

// One exchange with the id of its reply.
async function ask(method, path, body, { token = world.token, headers = {} } = {}) {
  const reply = await fetch(`http://127.0.0.1:${world.port}${path}`, {
    method,
    headers: { ...(token ? { authorization: `Bearer ${token}` } : {}), ...(body === undefined ? {} : { 'content-type': 'application/json' }), ...headers },
    body: body === undefined ? undefined : JSON.stringify(body),
  });
  const text = method === 'HEAD' ? 'null' : await reply.text();
  return { status: reply.status, id: reply.headers.get('x-request-id') ?? reply.headers.get('x-amzn-requestid'), body: /json/.test(reply.headers.get('content-type') ?? '') ? JSON.parse(text) : text };
}

function aws(operation, input, { accessKeyId, secretAccessKey } = key, more = {}) {
  const headers = sign(`http://127.0.0.1:${world.port}/`, { target: `SageMaker.${operation}`, body: JSON.stringify(input), key: accessKeyId, secret: secretAccessKey, more });
  return ask('POST', '/', input, { token: null, headers });
}

const audit = (query = {}) => world.list(['/v1/audit', new URLSearchParams(query)].filter((part) => `${part}`).join('?'));
// The entries of one reply, waited for: what was refused comes a moment after it.
const entriesOf = (id) => until(`an entry of ${id}`, async () => {
  const found = (await audit()).filter((e) => e.requestId === id);
  return found.length > 0 && found;
}, 20000);

async function assertEntry(reply, wanted, count = 1) {
  const entries = await entriesOf(reply.id);
  assert.equal(entries.length, count, JSON.stringify(entries));
  const { id, at, requestId, ...entry } = entries[0];
  assert.ok(Math.abs(Date.parse(at) - Date.now()) < 60000);
  assert.deepEqual(entry, { peer: '127.0.0.1', count: 1, ...wanted });
}

test('what is changed through the REST API', async () => {
  const made = await ask('POST', '/v1/tokens', { kind: 'api', name: 'ci', role: 'operator' });
  assert.equal(made.status, 201);
  operator = made.body;
  secrets.push(operator.secret);
  const [first] = await audit();
  const boss = { actor: 'token:admin', credential: first.credential };
  assert.match(first.credential, /^[0-9a-f-]{36}$/);
  await assertEntry(made, { ...boss, operation: 'token.create', resource: 'ci', outcome: 'succeeded' });

  const spec = { name: 'train', orchestrator: 'none', instanceGroups: [{ name: 'gpu', instanceCount: 2, provider: 'local' }] };
  await assertEntry(await ask('POST', '/v1/clusters', spec), { ...boss, operation: 'cluster.create', cluster: 'train', outcome: 'succeeded' });
  await assertEntry(await ask('POST', '/v1/clusters', spec), { ...boss, operation: 'cluster.create', cluster: 'train', outcome: 'refused', code: 'name-taken' });
  // A secret where a name belongs is not a name.
  const wrong = await ask('POST', '/v1/clusters', { name: `${operator.secret} ` });
  await assertEntry(wrong, { ...boss, operation: 'cluster.create', outcome: 'refused', code: 'invalid-value' });

  const ci = { actor: 'token:ci', credential: operator.id };
  const as = { token: operator.secret };
  await assertEntry(await ask('PATCH', '/v1/clusters/train', { nodeRecovery: 'None' }, as), { ...ci, operation: 'cluster.update', cluster: 'train', outcome: 'succeeded' });
  await assertEntry(await ask('PATCH', '/v1/clusters/train', { nodeRecovery: 'None' }, as), { ...ci, operation: 'cluster.update', cluster: 'train', outcome: 'succeeded' });
  await assertEntry(await ask('PATCH', '/v1/clusters/train', { colour: 'red' }, as), { ...ci, operation: 'cluster.update', cluster: 'train', outcome: 'refused', code: 'invalid-value' });
  await assertEntry(await ask('DELETE', '/v1/clusters/train', undefined, as), { ...ci, operation: 'cluster.delete', cluster: 'train', outcome: 'refused', code: 'forbidden' });
  await assertEntry(await ask('POST', '/v1/clusters/train/nodes/gpu-9/reboot', {}, as), { ...ci, operation: 'node.reboot', cluster: 'train', resource: 'gpu-9', outcome: 'refused', code: 'not-found' });
  await assertEntry(await ask('PATCH', '/v1/clusters/train/nodes/gpu-1', { optedOut: true }, as), { ...ci, operation: 'node.update', cluster: 'train', resource: 'gpu-1', outcome: 'succeeded' });
  await assertEntry(await ask('POST', '/v1/operations/nothing/cancel', {}, as), { ...ci, operation: 'operation.cancel', resource: 'nothing', outcome: 'refused', code: 'not-found' });

  const more = await ask('POST', '/v1/clusters/train/nodes', { nodesToAdd: [{ group: 'nothing', count: 1 }] }, as);
  assert.equal(more.body.refused.length, 1);
  // Nothing of it was done, so nothing of it has succeeded.
  await assertEntry(more, { ...ci, operation: 'nodes.add', cluster: 'train', resource: 'nothing', outcome: 'refused', code: more.body.refused[0].code });
  await assertEntry(await ask('DELETE', '/v1/clusters/train/nodes/gpu-9', undefined, as), { ...ci, operation: 'node.remove', cluster: 'train', resource: 'gpu-9', outcome: 'refused', code: 'not-found' });

  const keyMade = await ask('POST', '/v1/access-keys', { name: 'sdk', role: 'admin' });
  await assertEntry(keyMade, { ...boss, operation: 'access-key.create', resource: 'sdk', outcome: 'succeeded' });
  key = keyMade.body;
  viewerKey = (await ask('POST', '/v1/access-keys', { name: 'eye', role: 'viewer' })).body;
  secrets.push(key.secretAccessKey, viewerKey.secretAccessKey);
  const short = (await ask('POST', '/v1/tokens', { kind: 'api', name: 'short', role: 'viewer' })).body;
  secrets.push(short.secret);
  await assertEntry(await ask('DELETE', `/v1/tokens/${short.id}`), { ...boss, operation: 'token.delete', resource: short.id, outcome: 'succeeded' });
});

test('a repeat under its key does nothing, and adds no entry', async () => {
  const once = () => ask('POST', '/v1/tokens', { kind: 'api', name: 'once', role: 'viewer' }, { headers: { 'idempotency-key': 'once' } });
  const first = await once();
  secrets.push(first.body.secret);
  await entriesOf(first.id);
  const { length } = await audit();
  const again = await once();
  assert.deepEqual([again.status, again.body], [201, first.body]);
  assert.equal((await audit()).length, length);
});

test('an enrolment is a change', async () => {
  // The machines of the cluster enrol by themselves, each with the token that was made for it.
  await until('both machines have enrolled', async () => (await audit({ cluster: 'train', operation: 'agent.enroll' })).map((e) => /^enrollment:i-[0-9a-f]+$/.test(e.actor) && e.resource).sort().join() === 'gpu-1,gpu-2');
  const bare = { name: 'bare', orchestrator: 'none', instanceGroups: [{ name: 'iron', instanceCount: 1, provider: 'manual' }] };
  assert.equal((await ask('POST', '/v1/clusters', bare)).status, 201);
  const { secret, id } = (await ask('POST', '/v1/tokens', { kind: 'enrollment', cluster: 'bare' })).body;
  secrets.push(secret);
  const body = { node: 'iron-1', instanceId: 'i-00000000000000001', bootId: randomUUID() };
  const enrolled = await ask('POST', '/v1/agent/enroll', body, { token: secret });
  assert.equal(enrolled.status, 200);
  secrets.push(enrolled.body.credential);
  await assertEntry(enrolled, { actor: 'enrollment:bare', credential: id, operation: 'agent.enroll', cluster: 'bare', resource: 'iron-1', outcome: 'succeeded' });
  await assertEntry(await ask('POST', '/v1/agent/enroll', body, { token: `hfe_${'A'.repeat(43)}` }), { operation: 'agent.enroll', outcome: 'refused', code: 'unauthenticated' });
  // What agents say all the time is none.
  const before = (await audit()).length;
  const beat = await ask('POST', '/v1/agent/heartbeat', { instanceId: body.instanceId, bootId: body.bootId, seq: Date.now(), sentAtMs: Date.now(), checks: ['kmsg'], spooled: 0 }, { token: enrolled.body.credential });
  assert.equal(beat.status, 200);
  assert.equal((await ask('POST', '/v1/agent/heartbeat', {}, { token: 'hfn_1.wrong' })).status, 401);
  assert.equal((await audit()).length, before);
});

test('what is changed through the AWS API', async () => {
  const sdk = { actor: 'key:sdk', credential: key.accessKeyId, cluster: 'train' };
  await until('gpu-1 is ready', async () => (await world.list('/v1/clusters/train/nodes')).every((n) => n.state === 'ready'));
  const i = (await world.get('/v1/clusters/train/nodes/gpu-1')).instanceId;
  const none = 'i-0abcdef0123456789';
  const batch = await aws('BatchRebootClusterNodes', { ClusterName: 'train', NodeIds: [i, none] });
  assert.deepEqual([batch.status, batch.body.Successful, batch.body.Failed.length], [200, [i], 1], JSON.stringify(batch.body));
  const entries = await until('both entries', async () => {
    const found = (await audit()).filter((e) => e.requestId === batch.id);
    return found.length === 2 && found;
  });
  assert.deepEqual(entries.map((e) => [e.operation, e.cluster, e.resource, e.outcome, e.code]).sort((a, b) => a[3].localeCompare(b[3])), [
    ['AWS BatchRebootClusterNodes', 'train', none, 'refused', 'InstanceIdNotFound'],
    ['AWS BatchRebootClusterNodes', 'train', i, 'succeeded', undefined],
  ]);
  // By its logical id, too: where all of a batch is refused, nothing has succeeded.
  const lost = { ...sdk, resource: 'none-1', outcome: 'refused' };
  await assertEntry(await aws('BatchReplaceClusterNodes', { ClusterName: 'train', NodeLogicalIds: ['none-1'] }), { ...lost, operation: 'AWS BatchReplaceClusterNodes', code: 'InstanceIdNotFound' });
  await assertEntry(await aws('BatchDeleteClusterNodes', { ClusterName: 'train', NodeLogicalIds: ['none-1'] }), { ...lost, operation: 'AWS BatchDeleteClusterNodes', code: 'NodeIdNotFound' });
  await assertEntry(await aws('DeleteCluster', { ClusterName: 'train' }, viewerKey), { actor: 'key:eye', credential: viewerKey.accessKeyId, operation: 'AWS DeleteCluster', outcome: 'refused', code: 'AccessDeniedException' });
  await assertEntry(await aws('DeleteCluster', {}), { actor: 'key:sdk', credential: key.accessKeyId, operation: 'AWS DeleteCluster', outcome: 'refused', code: 'ValidationException' });
  // Who does not hold the secret is nobody; which key they tried is said.
  await assertEntry(await aws('DeleteCluster', { ClusterName: 'train' }, { ...key, secretAccessKey: 'wrong' }), { credential: key.accessKeyId, operation: 'AWS DeleteCluster', outcome: 'refused', code: 'InvalidSignatureException' });
  await assertEntry(await aws('DeleteCluster', { ClusterName: 'train' }, { ...key, accessKeyId: key.secretAccessKey }), { operation: 'AWS DeleteCluster', outcome: 'refused', code: 'UnrecognizedClientException' });
  // By its ARN it is the same cluster.
  const { ClusterArn } = (await aws('DescribeCluster', { ClusterName: 'train' })).body;
  await assertEntry(await aws('DeleteCluster', { ClusterName: ClusterArn }), { ...sdk, operation: 'AWS DeleteCluster', outcome: 'succeeded' });
});

test('what only reads leaves nothing behind', async () => {
  const before = (await audit()).length;
  for (const path of ['/v1/clusters', '/v1/clusters/nothing', '/v1/tokens', '/v1/audit', '/metrics', '/nowhere']) await ask('GET', path);
  await ask('HEAD', '/v1/clusters');
  await ask('GET', '/v1/clusters', undefined, { token: null });
  await aws('ListClusters', {});
  await aws('DescribeCluster', { ClusterName: 'nothing' });
  await aws('ListClusters', {}, { ...key, secretAccessKey: 'wrong' });
  await aws('CreateModel', {});
  assert.equal((await audit()).length, before);
});

test('who may read it, page by page and by what', async () => {
  assert.equal((await ask('GET', '/v1/audit', undefined, { token: operator.secret })).status, 200);
  const viewer = (await ask('POST', '/v1/tokens', { kind: 'api', name: 'eye', role: 'viewer' })).body;
  secrets.push(viewer.secret);
  assert.equal((await ask('GET', '/v1/audit', undefined, { token: viewer.secret })).status, 403);
  const all = await audit();
  const seen = [];
  for (let cursor = ''; ; ) {
    const page = await world.get(`/v1/audit?limit=4${cursor && `&cursor=${cursor}`}`);
    seen.push(...page.items);
    if (!page.nextCursor) break;
    cursor = page.nextCursor;
    // What comes in between is newer, and moves nothing.
    if (seen.length === 4) await ask('PATCH', '/v1/clusters/none', { nodeRecovery: 'None' });
  }
  assert.deepEqual(seen.map((e) => e.id), all.map((e) => e.id));
  const filters = [
    [{ actor: 'token:ci' }, (e) => e.actor === 'token:ci'],
    [{ cluster: 'train' }, (e) => e.cluster === 'train'],
    [{ cluster: 'train', outcome: 'refused' }, (e) => e.cluster === 'train' && e.outcome === 'refused'],
    [{ operation: 'AWS DeleteCluster' }, (e) => e.operation === 'AWS DeleteCluster'],
    [{ resource: 'gpu-1' }, (e) => (e.resource ?? '').includes('gpu-1')],
    [{ after: all[5].at }, (e) => e.at > all[5].at],
    [{ before: all[5].at, actor: 'token:admin' }, (e) => e.at < all[5].at && e.actor === 'token:admin'],
  ];
  for (const [query, is] of filters) {
    const found = (await audit(query)).filter((e) => e.id <= all[0].id).map((e) => e.id);
    assert.deepEqual(found, all.filter(is).map((e) => e.id), JSON.stringify(query));
    assert.ok(found.length > 0, JSON.stringify(query));
  }
  for (const query of ['outcome=maybe', 'after=yesterday', 'cursor=x', 'colour=red', 'limit=0']) assert.equal((await ask('GET', `/v1/audit?${query}`)).status, 400, query);
});

test('hpctl audit list', () => {
  const env = { ...process.env, HPCTL_URL: `http://127.0.0.1:${world.port}`, HPCTL_TOKEN: world.token, HOME: world.dir };
  delete env.HPCTL_CONFIG;
  const hpctl = (...args) => spawnSync(hpctlPath, ['audit', 'list', ...args], { encoding: 'utf8', env });
  const table = hpctl('--cluster', 'train', '--outcome', 'refused');
  assert.equal(table.status, 0, table.stderr);
  assert.match(table.stdout, /^AT +WHO +FROM +WHAT/);
  assert.match(table.stdout, /token:ci +127\.0\.0\.1 +cluster\.delete +train/);
  assert.doesNotMatch(table.stdout, /succeeded/);
  const items = JSON.parse(hpctl('--actor', 'key:sdk', '--since', '1h', '--limit', '1', '-o', 'json').stdout);
  assert.deepEqual(items.map((e) => e.actor), ['key:sdk']);
  assert.deepEqual(JSON.parse(hpctl('--until', '1h', '-o', 'json').stdout), []);
  assert.equal(JSON.parse(hpctl('--resource', 'gpu-1', '--until', new Date(Date.now() + 60000).toISOString(), '-o', 'json').stdout).every((e) => e.resource.includes('gpu-1')), true);
  assert.equal(hpctl('--since', 'yesterday').status, 2);
});

test('no secret is in it, and a kill takes nothing of it', async () => {
  const made = await ask('POST', '/v1/tokens', { kind: 'api', name: 'last', role: 'viewer' });
  await world.stopHpd('SIGKILL');
  await world.start();
  const text = JSON.stringify(await audit());
  assert.ok(text.includes(made.id));
  for (const secret of [...secrets, made.body.secret]) assert.ok(!text.includes(secret));
});

test('a flood of refusals is a few entries and a count', async () => {
  const before = (await audit())[0].id;
  for (let i = 0; i < 120; i++) assert.equal((await ask('POST', '/v1/tokens', {}, { token: `hfa_${'B'.repeat(43)}` })).status, 401);
  await world.stopHpd(); // what is counted is written before the end
  await world.start();
  const entries = (await audit()).filter((e) => e.id > before);
  assert.equal(entries.reduce((sum, e) => sum + e.count, 0), 120);
  assert.ok(entries.length <= 60, `${entries.length} entries`); // a slow machine may see three minutes
  assert.ok(entries.every((e) => e.code === 'unauthenticated' && e.actor === undefined && e.peer === '127.0.0.1'));
});
