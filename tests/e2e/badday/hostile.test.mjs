// What no good client or agent would send, to the real hpd: each gets a clear refusal, nobody speaks for another, and the
// server goes on.
import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { after, before, test } from 'node:test';
import { Local, Speaker } from '../lib/local.mjs';
import { until } from '../lib/world.mjs';

const KIB = 1024;
let world, a, b;
before(async () => {
  world = await new Local({ speakers: true }).start();
  await world.create(2);
  a = await new Speaker(world, 'w-1').enroll();
  b = await new Speaker(world, 'w-2').enroll();
  a.speak();
  b.speak();
  await world.ready();
});
after(async () => {
  a?.stop();
  b?.stop();
  await world?.end();
});

const alive = async () => assert.equal((await world.call('GET', '/healthz')).status, 200);

test('a client that sends slowly is cut off, and nobody waits for it', { timeout: 120000 }, async () => {
  const sockets = [];
  const closed = [];
  for (let i = 0; i < 100; i++) {
    const socket = connect(world.port, '127.0.0.1');
    socket.on('error', () => {});
    closed.push(new Promise((done) => socket.on('close', done)));
    socket.on('data', () => {});
    socket.write(i % 2 ? 'POST /v1/agent/heartbeat HTTP/1.1\r\nHost: x\r\nX-' : 'G');
    const drip = setInterval(() => socket.writable && socket.write('a'), 500);
    socket.on('close', () => clearInterval(drip));
    sockets.push(socket);
  }
  const began = Date.now();
  await alive();
  assert.equal((await a.beat()).status, 200);
  assert.ok(Date.now() - began < 5000, 'others are served meanwhile');
  await Promise.race([Promise.all(closed), new Promise((_, no) => setTimeout(() => no(new Error('still open')), 60000).unref())]).finally(() => sockets.forEach((s) => s.destroy()));
  await alive();
});

test('what is not HTTP, or too much of it', async () => {
  const auth = `Authorization: Bearer ${a.credential}\r\nContent-Type: application/json\r\n`;
  const post = 'POST /v1/agent/verdicts HTTP/1.1\r\nHost: x\r\n' + auth;
  const cases = [
    ['\x16\x03\x01\x02\x00\x01\x00\x01\xfc', [0]],
    ['\0\0\0\0\0\0\r\n\r\n', [0, 400]],
    ['GET / HTTP/7.3\r\nHost: x\r\n\r\n', [505]],
    ['GET /healthz HTTP/1.1\r\n\r\n', [400]],
    [`GET /${'a'.repeat(64 * KIB)} HTTP/1.1\r\nHost: x\r\n\r\n`, [0, 414, 431]],
    [`GET /healthz HTTP/1.1\r\nHost: x\r\nX-Big: ${'a'.repeat(64 * KIB)}\r\n\r\n`, [0, 431]],
    ['GET /v1/clusters/%00 HTTP/1.1\r\nHost: x\r\n' + `Authorization: Bearer ${world.token}\r\n\r\n`, [400, 404]],
    ['GET /v1/clusters/..%2f..%2fetc HTTP/1.1\r\nHost: x\r\n' + `Authorization: Bearer ${world.token}\r\n\r\n`, [400, 404]],
    [post + 'Content-Length: 99999999999\r\n\r\n', [413]],
    [post + 'Transfer-Encoding: chunked\r\n\r\nzz\r\n', [0, 400]],
  ];
  for (const [bytes, allowed] of cases) {
    const reply = await world.raw(bytes);
    assert.ok(allowed.includes(reply.status), `${JSON.stringify(bytes.slice(0, 80))}: ${reply.status} ${reply.text.slice(0, 200)}`);
    if (reply.status >= 400 && reply.text.includes('{')) assert.match(reply.text, /"code":"[a-z-]+"/);
    await alive();
  }
});

// What a proxy in front could read as other requests than hpd: one 400, the connection ends, and nothing behind it is a request.
test('a message whose length two readers could take differently gets 400 and a close', async () => {
  const inner = `GET /v1/clusters HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${world.token}\r\n\r\n`;
  const post = `POST /v1/agent/verdicts HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${a.credential}\r\nContent-Type: application/json\r\n`;
  const get = 'GET /healthz HTTP/1.1\r\nHost: x\r\n';
  const cases = {
    'two differing Content-Length': `${post}Content-Length: 2\r\nContent-Length: 7\r\n\r\n{}${inner}`,
    'Content-Length with Transfer-Encoding': `${post}Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n${inner}`,
    'white space before the colon': `${post}Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n${inner}`,
    'a NUL behind chunked': `${post}Transfer-Encoding: chunked\0\r\n\r\n0\r\n\r\n${inner}`,
    'another coding': `${post}Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n${inner}`,
    'two Host': `${get}Host: y\r\n\r\n${inner}`,
    'no Host': `GET /healthz HTTP/1.1\r\n\r\n${inner}`,
    'a length that no 64 bits hold': `${post}Content-Length: 99999999999999999999\r\n\r\n{}${inner}`,
    'a NUL in a header': `${get}X-A: b\0c\r\n\r\n${inner}`,
    'a bare line feed': `GET /healthz HTTP/1.1\nHost: x\n\n${inner}`,
    'a bare line feed after a header': `${get}X-A: b\n\r\n${inner}`,
    'a folded line': `${get}X-A: b\r\n c\r\n\r\n${inner}`,
    'a chunk with a bare line feed': `${post}Transfer-Encoding: chunked\r\n\r\n2\n{}\r\n0\r\n\r\n${inner}`,
  };
  for (const [what, bytes] of Object.entries(cases)) {
    const reply = await world.raw(bytes, 10000);
    assert.equal(reply.status, 400, `${what}: ${reply.text}`);
    assert.ok(reply.closed, `${what}: not closed`);
    assert.equal(reply.text.match(/HTTP\/1\.1/g).length, 1, `${what}: ${reply.text}`);
    const [, length, body] = /Content-Length: (\d+)[\s\S]*?\r\n\r\n([\s\S]*)$/.exec(reply.text);
    assert.equal(body.length, Number(length), what);
    assert.equal(JSON.parse(body).code, 'bad-request');
  }
  // A good request before it is answered; a good one cut in pieces is good.
  const mixed = await world.raw(`${get}\r\n${cases['two Host']}`, 10000);
  assert.deepEqual(mixed.text.match(/HTTP\/1\.1 \d+/g), ['HTTP/1.1 200', 'HTTP/1.1 400']);
  assert.ok(mixed.closed);
  assert.equal((await world.raw(`${get}\r\n${get}\r\n`)).text.match(/HTTP\/1\.1 200/g).length, 2);
  await alive();
});

test('bodies: oversized, deep, not JSON, not UTF-8, with unknown members', async () => {
  const beat = () => ({ instanceId: a.instanceId, bootId: a.bootId, seq: Date.now() * 2, sentAtMs: Date.now() });
  const agent = { token: a.credential };
  const bad = [
    ['/v1/agent/heartbeat', '', agent],
    ['/v1/agent/heartbeat', 'null', agent],
    ['/v1/agent/heartbeat', '[]', agent],
    ['/v1/agent/heartbeat', '{"instanceId":', agent],
    ['/v1/agent/heartbeat', '{'.repeat(10000), agent],
    ['/v1/agent/heartbeat', { ...beat(), cheat: true }, agent],
    ['/v1/agent/heartbeat', { ...beat(), seq: '7' }, agent],
    ['/v1/agent/heartbeat', { ...beat(), seq: -1 }, agent],
    ['/v1/agent/heartbeat', { ...beat(), seq: 1e300 }, agent],
    ['/v1/agent/heartbeat', { ...beat(), instanceId: 'i'.repeat(1000) }, agent],
    ['/v1/agent/heartbeat', JSON.stringify(beat()) + 'x', agent],
    ['/v1/agent/verdicts', { instanceId: a.instanceId, bootId: a.bootId, sentAtMs: 1, verdicts: [] }, agent],
    ['/v1/agent/verdicts', { instanceId: a.instanceId, bootId: a.bootId, sentAtMs: 1, verdicts: Array.from({ length: 65 }, (_, i) => a.verdict(`k${i}`)) }, agent],
    ['/v1/agent/verdicts', { instanceId: a.instanceId, bootId: a.bootId, sentAtMs: 1, verdicts: [{ ...a.verdict('k'), node: 'w-2' }] }, agent],
    ['/v1/clusters', { name: 'x', nonsense: 1, instanceGroups: [] }, {}],
    ['/v1/clusters', '['.repeat(5000), {}],
    ['/v1/clusters/demo/nodes/w-1/reboot', { force: true }, {}],
    ['/v1/clusters/demo/nodes/w-1/reboot', { urgency: 'yesterday' }, {}],
  ];
  for (const [path, body, options] of bad) {
    const reply = await world.call('POST', path, body, options);
    assert.equal(reply.status, 400, `${path} ${JSON.stringify(body).slice(0, 100)}: ${JSON.stringify(reply.body)}`);
    assert.equal(reply.body.status, 400);
    assert.ok(reply.body.code && reply.body.detail && reply.body.requestId, JSON.stringify(reply.body));
  }
  const large = await world.call('POST', '/v1/agent/verdicts', `{"x":"${'a'.repeat(300 * KIB)}"}`, agent);
  assert.equal(large.status, 413);
  const latin = await fetch(`http://127.0.0.1:${world.port}/v1/clusters`, { method: 'POST', headers: { Authorization: `Bearer ${world.token}`, 'Content-Type': 'application/json' }, body: Buffer.from('{"name":"\xff\xfe"}', 'latin1') });
  assert.equal(latin.status, 400);
  assert.deepEqual((await world.list('/v1/clusters')).map((c) => c.name), ['demo']);
  assert.deepEqual(await world.repairs('w-1'), []);
  await alive();
});

test('an agent speaks for itself only', async () => {
  const other = { instanceId: b.instanceId, bootId: b.bootId };
  const beat = await a.beat(other);
  assert.deepEqual([beat.status, beat.body.code], [409, 'stale-report']);
  await a.report([a.fatal('stolen-1')], other);
  // Whatever it was answered: nothing of it reaches the other node, and nothing of it counts.
  assert.deepEqual(await world.verdicts('w-2'), []);
  for (const v of await world.verdicts('w-1')) assert.notEqual(v.state, 'open');
  for (const node of ['w-1', 'w-2']) {
    assert.deepEqual(await world.repairs(node), []);
    assert.equal((await world.node(node)).state, 'ready');
  }
  // A forged row beside a good secret, no secret, a person's token: nobody.
  const secret = a.credential.split('.')[1];
  for (const token of [`hfn_${Number(/hfn_(\d+)/.exec(b.credential)[1])}.${secret}`, 'hfn_1.', 'hfn_99999999999999999999.x', world.token, 'x'.repeat(2000)])
    assert.equal((await world.call('POST', '/v1/agent/heartbeat', { instanceId: a.instanceId, bootId: a.bootId, seq: Date.now() * 2, sentAtMs: 1 }, { token })).status, 401, token.slice(0, 30));
  // Nor does an agent's credential open a person's APIs.
  assert.ok([401, 403].includes((await world.call('GET', '/v1/clusters', undefined, { token: a.credential })).status));
  assert.ok([401, 403].includes((await world.call('POST', '/v1/clusters/demo/nodes/w-2/replace', {}, { token: a.credential })).status));
});

test('a replayed heartbeat is refused and changes nothing', async () => {
  a.stop();
  const before = await a.beat();
  assert.equal(before.status, 200);
  const replay = await a.beat({ seq: a.seq - 1 });
  assert.deepEqual([replay.status, replay.body.code], [409, 'replayed']);
  const seen = (await world.node('w-1')).live.lastHeartbeatAt;
  for (let i = 0; i < 20; i++) assert.equal((await a.beat({ seq: 1 + i })).status, 409);
  assert.equal((await world.node('w-1')).live.lastHeartbeatAt, seen);
  await until('silence is noticed although replays go on', async () => {
    await a.beat({ seq: 5 });
    return (await world.node('w-1')).live.silent;
  });
  a.speak();
  await world.ready();
});

test('a repeat delivery is the same row', async () => {
  const verdict = a.verdict('twice');
  for (let i = 0; i < 3; i++) assert.equal((await a.report([verdict])).status, 200);
  assert.equal((await world.verdicts('w-1')).filter((v) => v.code === 'xid.31').length, 1);
});

test('the credential of a replaced instance is worth nothing', async () => {
  const old = { instanceId: b.instanceId, bootId: b.bootId };
  b.stop();
  assert.equal((await world.call('POST', '/v1/clusters/demo/nodes/w-2/replace', { reason: 'test' })).status, 202);
  await until('another instance', async () => ![undefined, old.instanceId].includes((await world.node('w-2')).instanceId));
  const c = (await new Speaker(world, 'w-2').enroll()).speak();
  try {
    await world.ready();
    const beat = await b.beat();
    assert.ok([401, 409].includes(beat.status), JSON.stringify(beat));
    const report = await b.report([b.fatal('from the grave')]);
    const stolen = await b.report([b.fatal('as my heir')], { instanceId: c.instanceId, bootId: c.bootId });
    assert.equal(stolen.status, 401, JSON.stringify(stolen));
    assert.ok([200, 401, 409].includes(report.status));
    assert.deepEqual((await world.verdicts('w-2')).filter((v) => v.state === 'open'), []);
    assert.equal((await world.repairs('w-2')).length, 1, 'the replacement that was asked for');
    assert.equal((await world.node('w-2')).state, 'ready');
  } finally {
    c.stop();
  }
});
