// Who may do what: every route and every operation of the AWS API, asked by every role, by nobody, by tokens that are
// worthless, and by agents. What each needs stands here a second time, on purpose: a route or an operation that is new
// or has changed hands fails until somebody has thought about it here, too.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { root } from '../lib/programs.mjs';
import { sign } from '../lib/sigv4.mjs';
import { operations } from './contract.mjs';
import { Hpd } from './hpd.mjs';

const ROUTES = {
  open: ['checkHealth', 'checkReadiness', 'readOpenapi', 'openDocs', 'readDocs', 'openRoot', 'openConsole', 'readConsole', 'showApprovalLink', 'approveByLink', 'rejectByLink'],
  local: ['readMetrics'], // nothing from this machine, which is where the test runs
  agent: ['heartbeatAgent', 'reportVerdicts', 'reportMachine', 'describeAgentOwnSettings', 'reportAgentSettings', 'describeAgentWork', 'reportAgentWork', 'describeAgentCheck', 'reportAgentCheck', 'pairAgent'],
  enroll: ['enrollAgent', 'reportSpare'],
  signed: ['callAws'],
  job: ['diagnoseJob'],
  reporter: ['reportNode', 'receiveReports', 'receiveAlerts'],
  viewer: ['listClusters', 'describeCluster', 'listNodes', 'describeNode', 'describeNodeHardware', 'listHostKeys', 'explainNode', 'listVerdicts', 'listOperations', 'describeOperation', 'listLemons', 'listMachines', 'describeMachine', 'describeMachineEvidence', 'listProviders', 'describeProvider', 'listWebhooks', 'listFailedMessages', 'listIncidents', 'describeIncident', 'listJobs', 'describeJob', 'listSchedulers', 'describeScheduler', 'listSchedulerNodes', 'describeOnlyScheduler', 'listOnlySchedulerNodes', 'describeAgentSettings', 'listEvents', 'streamEvents', 'describeVersion', 'describeCertificate', 'listPrometheusTargets', 'listChecks', 'describeCheck', 'readCheckLogs',
    'describeSchedulerConfig', 'listPolicies', 'listClusterPolicies', 'listGroupPolicies', 'listApprovals', 'describePolicy', 'validatePolicy', 'diffPolicy', 'listPolicyVersions', 'describePolicyVersion', 'listQuotas', 'describeQuota', 'listClusterTags', 'listSchedulerConfigTags', 'listQuotaTags'],
  operator: ['applyAgentSettings', 'updateCluster', 'updateClusterSoftware', 'checkCluster', 'startChecks', 'updateNode', 'pauseCluster', 'resumeCluster', 'commandJob', 'readJobLogs', 'testWebhooks', 'resendMessages', 'testProvider', 'addMachine', 'updateMachine', 'benchMachine', 'returnMachine', 'releaseMachine', 'retireMachine', 'endIncident', 'resumeGroup', 'addNodes', 'removeNode', 'rebootNode', 'replaceNode', 'releaseNode', 'cancelOperation', 'approveOperation', 'rejectOperation', 'listAudit', 'updateSchedulerConfig', 'updateQuota', 'addClusterTags', 'addSchedulerConfigTags', 'addQuotaTags'],
  admin: ['createCluster', 'runNodeCommand', 'describeNodeCommand', 'createBackup', 'deleteCluster', 'injectXid', 'applyPolicy', 'rollbackPolicy', 'listTokens', 'createToken', 'deleteToken', 'listAccessKeys', 'createAccessKey', 'deleteAccessKey',
    'createSchedulerConfig', 'deleteSchedulerConfig', 'createQuota', 'deleteQuota', 'deleteClusterTag', 'deleteSchedulerConfigTag', 'deleteQuotaTag'],
};

const AWS = {
  viewer: ['ListClusters', 'DescribeCluster', 'ListClusterNodes', 'DescribeClusterNode', 'ListClusterEvents', 'DescribeClusterEvent', 'ListClusterSchedulerConfigs', 'DescribeClusterSchedulerConfig', 'ListComputeQuotas', 'DescribeComputeQuota', 'ListTags',
    'SearchTrainingPlanOfferings', 'ListTrainingPlans', 'DescribeTrainingPlan', 'DescribeTrainingPlanExtensionHistory', 'DescribeReservedCapacity', 'ListUltraServersByReservedCapacity'],
  operator: ['UpdateCluster', 'UpdateClusterSoftware', 'BatchAddClusterNodes', 'BatchDeleteClusterNodes', 'BatchRebootClusterNodes', 'BatchReplaceClusterNodes', 'StartClusterHealthCheck', 'AttachClusterNodeVolume', 'DetachClusterNodeVolume', 'AttachClusterNodeNetworkInterface',
    'UpdateClusterSchedulerConfig', 'UpdateComputeQuota', 'AddTags'],
  admin: ['CreateCluster', 'DeleteCluster', 'CreateClusterSchedulerConfig', 'DeleteClusterSchedulerConfig', 'CreateComputeQuota', 'DeleteComputeQuota', 'DeleteTags', 'CreateTrainingPlan', 'ExtendTrainingPlan'],
};
const ROLES = ['reporter', 'job', 'viewer', 'operator', 'admin'];

const hpd = new Hpd();
const tokens = {}; // by asker
const keys = {}; // by role
const agents = {}; // by node

async function ask(method, path, { token, body, headers = {} } = {}) {
  const aborter = new AbortController();
  const reply = await fetch(`${hpd.url}${path}`, {
    method,
    headers: { ...(token ? { authorization: `Bearer ${token}` } : {}), ...(body === undefined ? {} : { 'content-type': 'application/json' }), ...headers },
    body: body === undefined ? undefined : typeof body === 'string' ? body : JSON.stringify(body),
    signal: aborter.signal,
  });
  // A stream has no end to wait for.
  const stream = reply.headers.get('content-type') === 'text/event-stream';
  const text = stream ? '' : await reply.text();
  if (stream) aborter.abort();
  const value = /json/.test(reply.headers.get('content-type') ?? '') ? JSON.parse(text) : text;
  return { status: reply.status, body: value };
}

async function admin(method, path, body, status) {
  const reply = await ask(method, path, { token: hpd.admin, body });
  assert.equal(reply.status, status, JSON.stringify(reply.body));
  return reply.body;
}

const enrollmentToken = (node) => admin('POST', '/v1/tokens', { kind: 'enrollment', cluster: 'access', node }, 201).then((t) => t.secret);

async function enroll(node, instanceId) {
  const agent = { node, instanceId, bootId: randomUUID(), seq: 0 };
  const reply = await ask('POST', '/v1/agent/enroll', { token: await enrollmentToken(node), body: { node, instanceId, bootId: agent.bootId } });
  assert.equal(reply.status, 200, JSON.stringify(reply.body));
  return Object.assign(agent, { credential: reply.body.credential, nodeId: reply.body.nodeId });
}

const message = (agent, more) => ({ instanceId: agent.instanceId, bootId: agent.bootId, sentAtMs: Date.now(), ...more });
const beat = (agent, over = {}) => message({ ...agent, ...over }, { seq: ++agent.seq, checks: ['kmsg'], spooled: 0 });

before(async () => {
  await hpd.start();
  await admin('POST', '/v1/clusters', { name: 'access', orchestrator: 'none', instanceGroups: [{ name: 'gpu', instanceCount: 2, provider: 'manual', nodeNames: 'gpu-[1-2]' }] }, 201);
  for (const role of ROLES) {
    tokens[role] = (await admin('POST', '/v1/tokens', { kind: 'api', name: `as-${role}`, role }, 201)).secret;
    keys[role] = await admin('POST', '/v1/access-keys', { name: role, role }, 201);
  }
  const gone = await admin('POST', '/v1/tokens', { kind: 'api', name: 'gone', role: 'admin' }, 201);
  await admin('DELETE', `/v1/tokens/${gone.id}`, undefined, 204);
  const goneKey = await admin('POST', '/v1/access-keys', { name: 'gone', role: 'admin' }, 201);
  await admin('DELETE', `/v1/access-keys/${goneKey.accessKeyId}`, undefined, 204);
  keys.deleted = goneKey;
  for (const n of [1, 2]) agents[`gpu-${n}`] = await enroll(`gpu-${n}`, `i-0000000000000000${n}`);
  Object.assign(tokens, {
    nobody: undefined,
    nonsense: 'nonsense',
    unknown: `hfa_${'A'.repeat(43)}`,
    deleted: gone.secret,
    'cut off': tokens.admin.slice(0, -1),
    'an enrolment token': await enrollmentToken('gpu-1'),
    'an agent': agents['gpu-1'].credential,
  });
});
after(async () => assert.equal(await hpd.stop(), 0));

const needs = (table) => new Map(Object.entries(table).flatMap(([need, names]) => names.map((name) => [name, need])));
const routes = needs(ROUTES);
const awsOperations = needs(AWS);

test('every route and every operation has its expectation', () => {
  const table = readFileSync(join(root, 'api/routes.c'), 'utf8');
  const inTable = [...table.matchAll(/\{"[A-Z]+",[^"]*(?:"[^"]*"\s*)*,?\s*"(\w+)",\s*ACCESS_/g)].map((m) => m[1]);
  assert.equal(inTable.length, table.match(/, ACCESS_/g).length); // the pattern has found them all
  assert.deepEqual(inTable.sort(), [...routes.keys()].sort());
  assert.deepEqual([...operations.keys()].sort(), [...routes.keys()].sort());
  const model = JSON.parse(readFileSync(join(root, 'api/aws/model.json'), 'utf8'));
  assert.deepEqual([...Object.keys(model.operations), ...(Array.isArray(model.later) ? model.later : Object.keys(model.later))].sort(), [...awsOperations.keys()].sort());
});

// 'in', or the status that keeps out.
function wanted(need, asker) {
  const rank = ROLES.indexOf(asker);
  if (need === 'open' || need === 'local') return 'in';
  if (need === 'agent') return asker === 'an agent' ? 'in' : 401;
  if (need === 'enroll') return asker === 'an enrolment token' ? 'in' : 401;
  if (need === 'signed') return 403; // no token opens the other API
  const least = ROLES.indexOf(need === 'reporter' ? 'operator' : need);
  return rank < 0 ? 401 : rank >= least || asker === need ? 'in' : 403;
}

test('every route, asked by everybody', async () => {
  const params = { cluster: 'nothing', node: 'gpu-9', operation: 'nothing', token: 'nothing', accessKey: 'nothing' };
  for (const [id, need] of routes) {
    const { path, method, requestBody } = operations.get(id);
    const at = path.replace(/\{(\w+)\}/g, (_, name) => params[name] ?? 'nothing');
    const headers = need === 'signed' ? { 'x-amz-target': 'SageMaker.ListClusters' } : {};
    for (const [asker, token] of Object.entries(tokens)) {
      const { status, body } = await ask(method, at, { token, headers, body: requestBody ? '{}' : undefined });
      const got = status === 401 || status === 403 ? status : 'in';
      assert.equal(got, wanted(need, asker), `${id} asked by ${asker}: ${status} ${JSON.stringify(body)}`);
      if (got === 401) assert.equal(body.code, 'unauthenticated');
      if (got === 403 && need !== 'signed') assert.equal(body.code, 'forbidden');
      assert.ok(status < 500, `${id} asked by ${asker}: ${status}`);
    }
  }
});

test('every operation of the AWS API, asked by everybody', async () => {
  const call = async (name, key, { over = {}, more = {} } = {}) => {
    const target = `SageMaker.${name}`;
    const headers = key ? sign(`${hpd.url}/`, { target, body: '{}', key: key.accessKeyId, secret: key.secretAccessKey, ...over }) : { 'x-amz-target': target };
    return ask('POST', '/', { body: '{}', headers: { ...headers, ...more } });
  };
  for (const [name, need] of awsOperations) {
    for (const [rank, role] of ROLES.entries()) {
      const { status, body } = await call(name, keys[role]);
      const denied = body.__type === 'AccessDeniedException';
      assert.equal(denied, rank < ROLES.indexOf(need), `${name} as ${role}: ${status} ${JSON.stringify(body)}`);
      if (denied) assert.match(body.message, new RegExp(`^${name} needs the role "${need}"`));
      assert.ok(status !== 401 && status !== 403 && status < 500, `${name} as ${role}: ${status}`);
    }
    const outside = [
      [undefined, {}, 'MissingAuthenticationTokenException'],
      [undefined, { more: { authorization: `Bearer ${tokens.admin}` } }, 'MissingAuthenticationTokenException'],
      [keys.deleted, {}, 'UnrecognizedClientException'],
      [{ ...keys.admin, accessKeyId: 'HFAKAAAAAAAAAAAAAAAA' }, {}, 'UnrecognizedClientException'],
      [{ ...keys.admin, secretAccessKey: keys.viewer.secretAccessKey }, {}, 'InvalidSignatureException'],
      [{ ...keys.viewer, accessKeyId: keys.admin.accessKeyId }, {}, 'InvalidSignatureException'],
      // A viewer's signature of something harmless, put before something else.
      [keys.viewer, { over: { target: 'SageMaker.ListClusters' }, more: { 'x-amz-target': `SageMaker.${name}` } }, name === 'ListClusters' ? undefined : 'InvalidSignatureException'],
    ];
    for (const [key, how, type] of outside) {
      const { status, body } = await call(name, key, how);
      assert.deepEqual([body.__type, status], type ? [type, 403] : [undefined, 200], `${name}: ${JSON.stringify(body)}`);
    }
  }
});

test('an agent speaks for its own node and for no other', async () => {
  const [one, two] = [agents['gpu-1'], agents['gpu-2']];
  const say = (path, token, body) => ask('POST', `/v1/agent/${path}`, { token, body });
  assert.equal((await say('heartbeat', one.credential, beat(one))).status, 200);
  assert.equal((await say('heartbeat', two.credential, beat(two))).status, 200);
  const seen = async (node) => (await admin('GET', `/v1/clusters/access/nodes/${node}`, undefined, 200)).instanceId;
  const verdict = { key: 'k', device: '0000:b9:00', source: 'kmsg', code: 'xid.79', rawLine: 'NVRM: Xid (PCI:0000:b9:00): 79, GPU has fallen off the bus.', firstAtMs: 1, lastAtMs: 1, count: 1, severity: 'critical', tableVersion: 'test' };
  // In another's name: the credential says who it is, and the message says somebody else.
  const lies = [beat(one, { instanceId: two.instanceId }), beat(one, { instanceId: two.instanceId, bootId: two.bootId })];
  for (const lie of lies) {
    const { status, body } = await say('heartbeat', one.credential, lie);
    assert.deepEqual([status, body.code], [409, 'stale-report'], JSON.stringify(body));
  }
  // Verdicts of another instance than the one that fills the node are noted, count for nothing, and never get to another node.
  assert.equal((await say('verdicts', one.credential, message(two, { verdicts: [verdict] }))).status, 200);
  // Its own secret under the other's number.
  const forged = one.credential.replace(/^hfn_\d+/, `hfn_${two.nodeId}`);
  assert.notEqual(forged, one.credential);
  for (const path of ['heartbeat', 'verdicts']) assert.equal((await say(path, forged, beat(two))).status, 401, path);
  for (const node of ['gpu-1', 'gpu-2']) {
    assert.equal(await seen(node), agents[node].instanceId);
    assert.deepEqual((await admin('GET', `/v1/clusters/access/nodes/${node}/verdicts?state=open`, undefined, 200)).items, []);
  }
  assert.deepEqual((await admin('GET', '/v1/clusters/access/nodes/gpu-2/verdicts', undefined, 200)).items, []);
  // A token for one node lets in as no other.
  const asOther = await say('enroll', await enrollmentToken('gpu-1'), { node: 'gpu-2', instanceId: 'i-00000000000000009', bootId: randomUUID() });
  assert.deepEqual([asOther.status, asOther.body.code], [403, 'forbidden']);
  assert.equal(await seen('gpu-2'), two.instanceId);
  // Who enrols again makes the earlier credential worthless.
  const again = await enroll('gpu-1', one.instanceId);
  assert.equal((await say('heartbeat', one.credential, beat(one))).status, 401);
  assert.equal((await say('heartbeat', again.credential, beat(again))).status, 200);
});
