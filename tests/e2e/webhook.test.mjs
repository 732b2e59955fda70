// Webhooks: a receiver of ours, which checks signatures by the library that Standard Webhooks publishes, and hpd with real agents.
import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { Webhook } from 'standardwebhooks';
import { Local } from './lib/local.mjs';
import { hpctlPath, hpdPath } from './lib/programs.mjs';
import { FELL_OFF, until } from './lib/world.mjs';

const dir = mkdtempSync(join(tmpdir(), 'holdfast-webhook.'));
const config = join(dir, 'hpctl.yaml');
const secretFile = join(dir, 'oncall.secret');
// Not waited for in a call that blocks: the receivers live in this process.
const hpctl = (...words) => {
  const env = { ...process.env, HPCTL_URL: `http://127.0.0.1:${world?.port}`, HPCTL_TOKEN: world?.token, HPCTL_CONFIG: config };
  return new Promise((done) => execFile(hpctlPath, words, { env }, (error, out, err) => done({ code: error?.code ?? 0, out, err })));
};

// Keeps what it takes; answer says what it does with the next ones.
class Receiver {
  constructor() {
    this.got = [];
    this.tries = [];
    this.answer = () => 204;
    this.server = createServer((request, response) => {
      let body = '';
      request.on('data', (data) => (body += data));
      request.on('end', () => {
        const message = { path: request.url, headers: request.headers, body, json: JSON.parse(body) };
        const status = this.answer(message);
        this.tries.push(message);
        if (status === undefined) return; // and says nothing, ever
        if (status >= 200 && status < 300) this.got.push(message);
        response.writeHead(status, { Location: 'http://127.0.0.1:9/' }).end('thank you');
      });
    });
  }

  async listen(port = 0) {
    await new Promise((done) => this.server.listen(port, '127.0.0.1', done));
    this.port = this.server.address().port;
  }

  async close() {
    this.server.closeAllConnections();
    await new Promise((done) => this.server.close(done));
  }

  of(kind, node) {
    return this.got.filter(({ json }) => json.type === kind && (!node || json.data.event.node === node));
  }
}

const FORMATS = ['cloudevents', 'slack', 'pagerduty', 'alertmanager', 'opsgenie'];
const KEYED = ['pagerduty', 'opsgenie'];
const oncall = new Receiver();
const chat = new Receiver();
const services = new Receiver(); // each format at a path of its name
let world;
let secret;

before(async () => {
  writeFileSync(config, '{}\n');
  const made = await hpctl('webhook', 'new-secret');
  assert.match(made.out, /^whsec_[A-Za-z0-9+/]{43}=\n$/, made.err);
  secret = made.out.trim();
  assert.notEqual((await hpctl('webhook', 'new-secret')).out.trim(), secret);
  writeFileSync(secretFile, `# of the pager\n${secret}\n`, { mode: 0o600 });
  writeFileSync(join(dir, 'token'), 'letmein\n', { mode: 0o600 });
  await oncall.listen();
  await chat.listen();
  await services.listen();
  writeFileSync(join(dir, 'key'), 'R0UTING\n', { mode: 0o600 });
  const webhooks = [
    { name: 'oncall', url: `http://127.0.0.1:${oncall.port}/hooks/s3cret?x=1`, secretFile, tokenFile: join(dir, 'token'), approvalLinks: true, timeout: '1s', retryMax: '2s' },
    { name: 'chat', url: `http://127.0.0.1:${chat.port}/`, secretFile, kinds: ['webhook-failing', 'webhook-back', 'decision'], minLevel: 'info' },
  ];
  for (const format of FORMATS)
    webhooks.push({ name: format, format, url: `http://127.0.0.1:${services.port}/${format}`, ...(KEYED.includes(format) && { secretFile: join(dir, 'key') }) });
  world = new Local({ config: { webhooks } });
  await world.start();
  await world.create(3);
  await world.ready();
});
after(async () => {
  await world.end();
  await Promise.all([oncall.close(), chat.close(), services.close()]);
  rmSync(dir, { recursive: true, force: true });
});

const explain = async (node) => world.get(`/v1/clusters/demo/nodes/${node}/explanation`);
const policy = async (text) => {
  writeFileSync(join(dir, 'policy.yaml'), text);
  assert.equal((await hpctl('policy', 'apply', '-f', join(dir, 'policy.yaml'))).code, 0);
};

test('a test is taken by each, signed, and shown', async () => {
  const { code, out, err } = await hpctl('webhook', 'test');
  assert.equal(code, 0, err + out);
  assert.match(out, /oncall +http:\/\/127\.0\.0\.1:\d+ +ok/);
  assert.ok(!out.includes('s3cret'), 'the path is as good as a password');
  const [message] = oncall.of('webhook-test');
  assert.equal(message.path, '/hooks/s3cret?x=1');
  assert.equal(message.headers.authorization, 'Bearer letmein');
  assert.match(message.headers['user-agent'], /^Holdfast\//);
  new Webhook(secret).verify(message.body, message.headers);
  assert.throws(() => new Webhook(secret).verify(message.body.replace('test', 'toast'), message.headers));
  assert.match(message.json.data.event.message, /which token:admin asked for: nothing has happened/);
  assert.equal(chat.of('webhook-test').length, 1);
  assert.equal(message.json.timestamp, message.json.data.event.at);
});

test('what a fault leads to is told with the very sentence that explain, the event and the node have', async () => {
  await world.kernel('w-1', FELL_OFF);
  const message = await until('the decision is told', () => oncall.of('decision', 'w-1')[0]);
  new Webhook(secret).verify(message.body, message.headers);
  const { decision } = await explain('w-1');
  assert.ok(message.json.data.event.message.includes(decision.sentence), `${message.json.data.event.message} | ${decision.sentence}`);
  const stored = (await world.events('decision', 'w-1')).find((e) => e.id === message.json.data.event.id);
  assert.deepEqual(message.json.data.event, stored);
  assert.equal(message.headers['webhook-id'], `evt_${stored.id}_${Date.parse(stored.at)}`);
  assert.deepEqual(oncall.of('verdict'), [], 'what an agent sees is nobody\'s alarm');
});

test('a question goes out with a link that answers it', async () => {
  await policy('version: 1\nclasses:\n  gpu: {mode: approve}\n');
  await world.kernel('w-2', FELL_OFF);
  const { json } = await until('the question is told', () => oncall.of('approval', 'w-2').find((m) => m.json.data.approval));
  const { approval } = json.data;
  assert.equal(approval.action, 'reboot');
  assert.equal(approval.sentence, (await world.get('/v1/approvals?state=asked')).items[0].sentence);
  assert.equal((await fetch(approval.approvalUrl)).status, 200);
  const page = await fetch(approval.approvalUrl, { method: 'POST' });
  assert.equal(page.status, 200, await page.text());
  await until('the repair', async () => (await world.repairs('w-2')).some((o) => o.id === approval.id));
  await policy('version: 1\n');
});

const sent = (format) => services.got.filter((m) => m.path.startsWith(`/${format}`));

test('a service that pages is told once what is wrong, and that it is over; a test is resolved again', async () => {
  const key = 'holdfast:decision:demo:w-1';
  const of = (action) => sent('pagerduty').filter(({ json }) => json.event_action === action && json.dedup_key === key);
  await until('w-1 is over', () => of('resolve').length > 0);
  assert.ok(of('trigger').length > 0 && of('acknowledge').length > 0);
  assert.ok(sent('pagerduty').every(({ json }) => json.routing_key === 'R0UTING' && json.payload.summary && ['critical', 'error', 'warning', 'info'].includes(json.payload.severity)));
  const opened = new Set();
  for (const { json } of sent('pagerduty')) {
    if (json.event_action === 'trigger') opened.add(json.dedup_key);
    assert.ok(opened.has(json.dedup_key), `nothing opened ${json.dedup_key}`);
  }
  const tests = sent('pagerduty').filter(({ json }) => json.payload.class === 'webhook-test').map(({ json }) => json.event_action);
  assert.deepEqual(tests.slice(0, 2), ['trigger', 'resolve']);
  const alias = encodeURIComponent(key);
  await until('Opsgenie closes it', () => sent('opsgenie').some((m) => m.path === `/opsgenie/${alias}/close?identifierType=alias`));
  assert.ok(sent('opsgenie').every((m) => m.headers.authorization === 'GenieKey R0UTING'));
  await until('Alertmanager is told', () => sent('alertmanager').some(({ json: [alert] }) => alert.labels.key === key && !alert.startsAt));
});

test('Slack has blocks with a link; CloudEvents have the detail types of HyperPod', async () => {
  const said = sent('slack').find(({ json }) => json.text.includes('w-1'));
  assert.deepEqual(said.json.blocks.map((block) => block.type), ['section', 'context', 'actions']);
  assert.match(said.json.blocks[2].elements[0].url, /\/console#\/clusters\/demo\/nodes\/w-1$/);
  const events = sent('cloudevents');
  assert.ok(events.every(({ headers, json }) => headers['content-type'] === 'application/cloudevents+json' && json.specversion === '1.0' && json.id && json.source && json.type));
  const health = events.find(({ json }) => json.type === 'SageMaker HyperPod Cluster Node Health Event' && json.subject === 'w-1').json;
  assert.deepEqual([health.data.ClusterName, health.data.HealthSummary.HealthStatus, health.data.HealthSummary.RepairAction], ['demo', 'Unhealthy', 'Reboot']);
  assert.match(health.data.ClusterArn, /^arn:aws:sagemaker:/);
  const { json } = events.find((m) => m.json.type === 'SageMaker HyperPod Cluster Event');
  assert.ok(Number.isInteger(json.data.EventDetails.EventTime) && json.data.EventDetails.EventTime > 1e12);
});

test('a receiver that fails is tried again, in order, with the same id; others are told, and hpctl says why', async () => {
  let failures = 4;
  oncall.answer = () => (failures-- > 0 ? 503 : 200);
  const [from, tries] = [oncall.got.length, oncall.tries.length];
  const late = await hpctl('webhook', 'test', '--timeout', '2s');
  assert.equal(late.code, 6, late.out);
  assert.match(late.err, /1 of 7 webhooks have not taken the test yet/);
  assert.match(late.out, /oncall .* failing .*answered with HTTP status 503/);
  await until('the other is told', () => chat.of('webhook-failing').length === 1);
  assert.match(chat.of('webhook-failing')[0].json.data.event.message, /The webhook oncall has taken nothing since .*: http.* answered with HTTP status 503\./);
  writeFileSync(secretFile, `${secret}\n${(await hpctl('webhook', 'new-secret')).out}`); // changed without a restart: both sign
  await until('it is taken', () => oncall.got.slice(from).some((m) => m.json.type === 'webhook-test'), 120000);
  await until('and told', () => chat.of('webhook-back').length === 1);
  const ids = oncall.tries.slice(tries, tries + 5).map((m) => m.headers['webhook-id']);
  assert.equal(new Set(ids).size, 1, `${ids}`);
  const taken = oncall.got[from];
  assert.equal(taken.headers['webhook-signature'].split(' ').length, 2);
  new Webhook(secret).verify(taken.body, taken.headers);
});

test('a message that it can do nothing with is left after three tries, and the next comes', async () => {
  const failing = chat.of('webhook-failing').length;
  oncall.answer = ({ json }) => (json.type === 'webhook-test' ? 422 : 200);
  const refused = await hpctl('webhook', 'test');
  assert.equal(refused.code, 1);
  assert.match(refused.err, /1 of the messages were refused, and are not sent again/);
  const [row] = (await world.get('/v1/webhooks')).items;
  assert.equal(row.refused, 1);
  await until('the other is told', () => chat.of('webhook-failing').length === failing + 1);
  assert.match(chat.of('webhook-failing').at(-1).json.data.event.message, /HTTP status 422\. What it refuses is left, and the next is tried\./);
  oncall.answer = () => 200;
  assert.equal((await hpctl('webhook', 'test')).code, 0);
  assert.equal((await world.get('/v1/webhooks')).items[0].state, 'ok');
  const left = JSON.parse((await hpctl('webhook', 'failed', '-ojson')).out);
  assert.deepEqual(left.map((m) => [m.webhook, m.event.kind]), [['oncall', 'webhook-test']]);
  assert.match(left[0].why, /HTTP status 422/);
  const taken = oncall.of('webhook-test').length;
  assert.match((await hpctl('webhook', 'resend', 'oncall')).out, /^1 message is sent again/);
  await until('it is taken', () => oncall.of('webhook-test').length > taken);
  assert.equal(oncall.of('webhook-test').at(-1).json.data.event.id, left[0].eventId);
  await until('it is not listed', async () => (await hpctl('webhook', 'failed', '-ojson')).out.trim() === '[]');
});

test('after a receiver was fixed a test does not wait for the next try', async () => {
  chat.answer = () => 503;
  const failures = async () => (await world.get('/v1/webhooks')).items[1].failures;
  while ((await failures()) < 8) { // each test is a try at once
    const before = await failures();
    await hpctl('webhook', 'test', '--timeout', '0s');
    await until('it was tried', async () => (await failures()) > before);
  }
  const { out } = await hpctl('webhook', 'list');
  assert.match(out, /NAME .* WAITING .*GIVEN UP/);
  assert.ok((await world.get('/v1/webhooks')).items[1].waiting >= 5, out);
  chat.answer = () => 200;
  const fixed = await hpctl('webhook', 'test', '--timeout', '20s'); // by itself the next try is minutes away
  assert.equal(fixed.code, 0, fixed.err + fixed.out);
  assert.equal((await world.get('/v1/webhooks')).items[1].waiting, 0);
});

test('kill -9 in the middle of a message: it comes again, and the way to the end is short', async () => {
  oncall.answer = () => undefined;
  const tries = oncall.tries.length;
  await hpctl('webhook', 'test', '--timeout', '0s');
  await until('it is under way', () => oncall.tries.length > tries);
  await world.stopHpd('SIGKILL');
  oncall.answer = () => 200;
  const from = oncall.got.length;
  await world.start();
  await until('it is taken', () => oncall.got.length > from);
  assert.equal(oncall.got[from].headers['webhook-id'], oncall.tries[tries].headers['webhook-id']);
  oncall.answer = () => undefined; // and hpd does not wait for one that hangs
  const hanging = oncall.tries.length;
  await hpctl('webhook', 'test', '--timeout', '0s');
  await until('it is under way', () => oncall.tries.length > hanging);
  assert.equal(await world.stopHpd(), 0);
  oncall.answer = () => 200;
  await world.start();
  assert.equal((await hpctl('webhook', 'test')).code, 0);
});

test('one that is gone (410) is sent nothing more until hpd starts again', async () => {
  oncall.answer = () => 410;
  await hpctl('webhook', 'test', '--timeout', '1s');
  await until('it is stopped', async () => (await world.get('/v1/webhooks')).items[0].state === 'stopped');
  await until('the other is told', () => chat.of('webhook-failing').some((m) => /gone, so nothing is sent/.test(m.json.data.event.message)));
  oncall.answer = () => 200;
  await world.stopHpd();
  await world.start();
  await until('it hears again', async () => (await world.get('/v1/webhooks')).items[0].state === 'ok');
});

test('a redirect is not followed', async () => {
  oncall.answer = () => 302;
  await hpctl('webhook', 'test', '--timeout', '1s');
  await until('it says so', async () => /302; redirects are not followed/.test((await world.get('/v1/webhooks')).items[0].error));
  oncall.answer = () => 200;
  await until('it hears again', async () => (await world.get('/v1/webhooks')).items[0].state === 'ok');
});

test('hpd does not start with what cannot work, and says what is wrong', async () => {
  const file = join(dir, 'bad.yaml');
  const start = async (webhooks) => {
    writeFileSync(file, JSON.stringify({ webhooks }));
    const child = spawn(hpdPath, ['--state-dir', join(dir, 'bad'), '--listen', '127.0.0.1:0', '--config', file], { stdio: ['ignore', 'ignore', 'pipe'] });
    let text = '';
    child.stderr.on('data', (data) => (text += data));
    const timer = setTimeout(() => child.kill('SIGTERM'), 20000);
    const code = await new Promise((done) => child.on('exit', done));
    clearTimeout(timer);
    assert.ok(code > 0, `it started: ${text}`);
    return text;
  };
  const good = { name: 'a', url: 'https://example.org/x', secretFile };
  const cases = [
    [{ ...good, url: 'http://example.org/x' }, /webhooks, entry 1: url: .*https/],
    [{ ...good, url: 'ftp://example.org/x' }, /webhooks, entry 1: url/],
    [{ ...good, url: 'https://example.org/a b' }, /entry 1: url: after the host comes a path/],
    [{ ...good, url: 'https://ann:s3cret@example.org/x' }, /entry 1: url: a user and a password in it are not taken/],
    [{ ...good, caFile: join(dir, 'none.pem') }, /webhook a: caFile .*none\.pem: there is no such file/],
    [{ ...good, secretFile: undefined }, /secretFile/],
    [{ ...good, secretFile: join(dir, 'none') }, /webhook a: secretFile .*none/],
    [{ ...good, secretFile: config }, /webhook a: secretFile .* hpctl webhook new-secret makes one/],
    [{ ...good, kinds: ['decisions'] }, /kinds has "decisions", which is no kind of event/],
    [{ ...good, minLevel: 'fatal' }, /minLevel must be info, warn or error/],
    [{ ...good, timeout: '2h' }, /timeout must be a duration with a unit, from 1s to 1m/],
    [{ ...good, retries: 3 }, /retries/],
  ];
  for (const [webhook, rule] of cases) assert.match(await start([webhook]), rule);
  assert.match(await start([good, good]), /entry 2: entry 1 has the same name/);
  assert.match(await start({}), /webhooks must be a list/);
});
