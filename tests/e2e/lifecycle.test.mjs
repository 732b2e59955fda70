// Lifecycle scripts on real machines: a real hpd, the local provider, and real agents that run them.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { chmodSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:https';
import { join } from 'node:path';
import { afterEach, test } from 'node:test';
import { Local } from './lib/local.mjs';
import { agentService } from './lib/programs.mjs';
import { S3 } from './lib/s3.mjs';
import { until } from './lib/world.mjs';

const SLOW = 180000;
let world;
let server;

afterEach(async () => {
  await new Promise((done) => (server ? server.close(done) : done()));
  server = undefined;
  await world?.end();
  world = undefined;
});

// A world whose agents get these arguments more, and a directory for sources.
async function open({ args = [], recovery = {} } = {}) {
  const made = new Local({ recovery: { scriptTimeLimit: '60s', scriptAttempts: 3, prepareDeadline: '5m', launchPauseMin: '1h', launchPauseMax: '1h', ...recovery } });
  world = made;
  made.source = join(made.dir, 'source');
  mkdirSync(made.source);
  const service = { ...agentService, command: [...agentService.command, ...args.map((a) => a.replace('{world}', made.dir))] };
  const config = JSON.parse(readFileSync(made.config, 'utf8'));
  config.providers.local.services = [service];
  writeFileSync(made.config, JSON.stringify(config));
  return made.start();
}

// Every run of a script leaves a line on its machine.
const SCRIPT = (body) => `#!/bin/sh\necho "$0 $*" >>"$HOLDFAST_INSTANCE_DIR/ran"\n${body}\n`;

function put(name, text) {
  writeFileSync(join(world.source, name), text);
  return name;
}

const create = (config) => world.create(1, { instanceGroups: [{ name: 'w', instanceCount: 1, provider: 'local', lifeCycleConfig: { sourceS3Uri: `file://${world.source}`, ...config } }] });
const instance = async () => (await world.node('w-1')).instanceId;
const runs = async () => (world.file(await instance(), 'ran') ?? '').split('\n').filter(Boolean);
const told = async () => (await world.events('lifecycle-script')).sort((a, b) => a.id - b.id).map((e) => e.message);
const launch = async () => (await world.list('/v1/operations?cluster=demo')).find((o) => o.kind === 'launch');

async function failed() {
  await until('the launch fails', async () => (await launch()).state === 'failed', SLOW);
  return launch();
}

test('scripts run once on a new machine, in their order, with what they may read', async () => {
  await open();
  put('on_create.sh', SCRIPT('cat library.txt; test "$1" = "$SAGEMAKER_RESOURCE_CONFIG_PATH" && cp "$1" "$HOLDFAST_INSTANCE_DIR/resources" && ! read -r nothing'));
  put('on_init.sh', SCRIPT('sleep 1000 & echo $! >"$HOLDFAST_INSTANCE_DIR/service"')); // it leaves a service behind
  put('library.txt', 'from the library\n');
  await create({ onCreate: 'on_create.sh', onInitComplete: 'on_init.sh' });
  await world.ready(SLOW);
  const id = await instance();
  assert.deepEqual((await runs()).map((line) => line.split(' ')[0].split('/').pop()), ['on_create.sh', 'on_init.sh']);
  const resources = JSON.parse(world.file(id, 'resources'));
  assert.equal(resources.ClusterConfig.ClusterName, 'demo');
  assert.deepEqual(resources.InstanceGroups[0].Instances.map((i) => [i.InstanceName, i.InstanceId]), [['w-1', id]]);
  assert.match(world.file(id, 'agent/lifecycle.log'), /from the library/);
  process.kill(Number(world.file(id, 'service')), 0); // it lives
  assert.deepEqual(await told(), ['lifecycle script on_create.sh started, attempt 1', 'lifecycle script on_create.sh succeeded, attempt 1', 'lifecycle script on_init.sh started, attempt 1', 'lifecycle script on_init.sh succeeded, attempt 1']);
  const asked = await world.call('POST', '/v1/clusters/demo/nodes/w-1/reboot', { reason: 'a test', urgency: 'now' });
  assert.equal(asked.status, 202);
  await until('rebooted', async () => (await world.repairs('w-1')).some((o) => o.kind === 'reboot' && o.state === 'succeeded'), SLOW);
  assert.equal((await runs()).length, 2);
});

test('a script that fails twice has a third attempt', async () => {
  await open();
  put('on_create.sh', SCRIPT('test $(wc -l <"$HOLDFAST_INSTANCE_DIR/ran") -ge 3 || { echo not yet; exit 7; }'));
  await create({ onCreate: 'on_create.sh' });
  await world.ready(SLOW);
  assert.equal((await runs()).length, 3);
  const events = await world.events('lifecycle-script');
  assert.equal(events.filter((e) => / failed, attempt [12]$/.test(e.message) && e.level === 'warn').length, 2);
  assert.equal(events.filter((e) => / succeeded, attempt 3$/.test(e.message)).length, 1);
});

test('a script that fails for good fails the launch, which says what and where', async () => {
  await open({ recovery: { scriptAttempts: 2 } });
  put('on_create.sh', SCRIPT('echo "mount: no such device"; exit 3'));
  await create({ onCreate: 'on_create.sh' });
  const operation = await failed();
  assert.match(operation.error, /^prepare: lifecycle script failed: on_create\.sh ended with exit code 3 in attempt 2 of 2; log .*lifecycle\.log/);
  assert.equal((await runs()).length, 2);
  const last = (await world.events('lifecycle-script')).find((e) => e.level === 'error');
  assert.equal(last.scriptState, 'Failed');
  assert.match(last.failureMessage, /exit code 3 .*lifecycle\.log; last lines: mount: no such device\n$/s);
});

test('a node that is given back runs what had not succeeded, on the same machine', async () => {
  await open({ recovery: { scriptAttempts: 1 } });
  put('on_create.sh', SCRIPT('exit 0'));
  put('on_init.sh', SCRIPT('exit 3'));
  await create({ onCreate: 'on_create.sh', onInitComplete: 'on_init.sh' });
  await failed();
  const id = await instance();
  const release = async () => {
    const { status, body } = await world.call('POST', '/v1/clusters/demo/nodes/w-1/release', { reason: 'the script is repaired' });
    assert.equal(status, 202, JSON.stringify(body));
    return until('the release ends', async () => {
      const operation = (await world.call('GET', `/v1/operations/${body.id}`)).body;
      return ['succeeded', 'failed'].includes(operation.state) && operation;
    }, SLOW);
  };
  assert.match((await release()).error, /^prepare: lifecycle script failed: on_init\.sh ended with exit code 3 in attempt 1 of 1/);
  put('on_init.sh', SCRIPT('exit 0'));
  assert.equal((await release()).state, 'succeeded');
  assert.equal((await world.node('w-1')).state, 'ready');
  assert.equal(await instance(), id);
  assert.deepEqual((await runs()).map((line) => line.split(' ')[0].split('/').pop()), ['on_create.sh', 'on_init.sh', 'on_init.sh', 'on_init.sh']);
});

test('time is limited, and what a script started ends with it', async () => {
  await open({ recovery: { scriptTimeLimit: '5s', scriptAttempts: 1 } });
  put('on_create.sh', SCRIPT('trap "" TERM; sleep 1000 & echo $! >"$HOLDFAST_INSTANCE_DIR/child"; echo $$ >"$HOLDFAST_INSTANCE_DIR/shell"; while :; do sleep 1; done'));
  await create({ onCreate: 'on_create.sh' });
  const operation = await failed();
  assert.match(operation.error, /did not end within 5s in attempt 1 of 1/);
  for (const name of ['child', 'shell']) {
    const pid = Number(world.file(await instance(), name));
    assert.ok(pid > 1);
    await until(`${name} is gone`, () => {
      try {
        return readFileSync(`/proc/${pid}/stat`, 'utf8').includes(') Z ');
      } catch {
        return true;
      }
    });
  }
});

// Ends the machine's process with that in its command line.
async function kill(id, word) {
  process.kill(await until(`a process with ${word}`, () => world.processOf(id, word)), 'SIGKILL');
}

test('agent, hpd and runner are killed in between: nothing that succeeded runs again', async () => {
  await open();
  put('on_create.sh', SCRIPT('exit 0'));
  put('on_init.sh', SCRIPT('touch "$HOLDFAST_INSTANCE_DIR/begun"; until [ -e "$HOLDFAST_INSTANCE_DIR/go" ]; do sleep 0.1; done'));
  await create({ onCreate: 'on_create.sh', onInitComplete: 'on_init.sh' });
  const id = await until('it has an instance', instance, SLOW);
  await until('the second script runs', () => world.file(id, 'begun') !== undefined, SLOW);
  await kill(id, '--kmsg'); // the agent; the machine starts it again
  await world.stopHpd('SIGKILL');
  await world.start();
  assert.deepEqual((await runs()).length, 2);
  await kill(id, '--lifecycle'); // the runner: its script is ended, and that was an attempt
  await until('another attempt runs', async () => (await runs()).length === 3, SLOW);
  await world.stopHpd('SIGKILL');
  writeFileSync(join(world.instances, id, 'go'), '');
  await until('the runner has stored the end', () => /"over":1/.test(world.file(id, 'agent/lifecycle/state')), SLOW);
  await kill(id, '--lifecycle'); // while it waits for hpd to hear of it
  await world.start();
  await world.ready(SLOW);
  assert.deepEqual((await runs()).map((line) => line.split(' ')[0].split('/').pop()), ['on_create.sh', 'on_init.sh', 'on_init.sh']);
  const messages = await told();
  assert.equal(messages.filter((m) => m === 'lifecycle script on_init.sh succeeded, attempt 2').length, 1);
  assert.equal(messages.filter((m) => m === 'lifecycle script on_init.sh failed, attempt 1').length, 1);
  assert.equal(new Set(messages).size, messages.length, 'nothing is told twice');
});

// A server whose certificate only {world}/ca.pem vouches for, for that name.
async function serveFiles(files, name = 'IP:127.0.0.1') {
  const [key, cert] = ['key.pem', 'ca.pem'].map((name) => join(world.dir, name));
  const made = spawnSync('openssl', ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-keyout', key, '-out', cert, '-days', '2', '-subj', '/CN=127.0.0.1', '-addext', `subjectAltName=${name}`], { encoding: 'utf8' });
  assert.equal(made.status, 0, made.stderr);
  server = createServer({ key: readFileSync(key), cert: readFileSync(cert) }, (request, reply) => {
    const file = files[request.url];
    reply.writeHead(file === undefined ? 404 : file.status ?? 200, file?.headers ?? {});
    reply.end(file?.status ? '' : file ?? 'nothing here');
  });
  await new Promise((done) => server.listen(0, '127.0.0.1', done));
  return `https://127.0.0.1:${server.address().port}`;
}

test('scripts come over https from a server that the given CA vouches for', async () => {
  await open({ args: ['--ca-file', '{world}/ca.pem', '--lifecycle-log', '{dir}/scripts.log'] });
  const url = await serveFiles({ '/a/b/on%20create.sh': SCRIPT('echo over https') });
  await create({ sourceS3Uri: `${url}/a/b/`, onCreate: 'on create.sh' });
  await world.ready(SLOW);
  assert.match(world.file(await instance(), 'scripts.log'), /over https/);
});

test('a directory at https brings the files of its SHA256SUMS, and each has its sum', async () => {
  await open({ args: ['--ca-file', '{world}/ca.pem'], recovery: { scriptAttempts: 1 } });
  const files = { 'on_create.sh': SCRIPT('. lib/words.sh; cat "data 1.txt"'), 'lib/words.sh': 'echo from the library\n', 'data 1.txt': 'from the data\n' };
  const sums = (of) => Object.entries(of).map(([name, text]) => `${createHash('sha256').update(text).digest('hex')}  ./${name}\n`).join('');
  const served = (list) => Object.fromEntries([...Object.entries(files).map(([name, text]) => [`/d/${encodeURI(name)}`, text]), ['/d/SHA256SUMS', list]]);
  const url = await serveFiles(served(sums(files)));
  await create({ sourceS3Uri: `${url}/d`, onCreate: 'on_create.sh' });
  await world.ready(SLOW);
  assert.match(world.file(await instance(), 'agent/lifecycle.log'), /from the library\nfrom the data/);
});

test('a directory at https whose file has another sum is refused', async () => {
  await open({ args: ['--ca-file', '{world}/ca.pem'], recovery: { scriptAttempts: 1 } });
  const url = await serveFiles({ '/d/SHA256SUMS': `${'0'.repeat(64)}  on_create.sh\n`, '/d/on_create.sh': SCRIPT('') });
  await create({ sourceS3Uri: `${url}/d`, onCreate: 'on_create.sh' });
  assert.match((await failed()).error, /on_create\.sh: its sum is not that of SHA256SUMS/);
  assert.deepEqual(await runs(), []);
});

const index = (path, ...names) => `<html><head><title>Index of ${path}</title></head><body><a href="../">../</a><a href="?C=N;O=D">Name</a><a href="https://elsewhere/x">x</a>${names.map((n) => `<a href="${n}">${n}</a>`).join('\n')}</body></html>`;

test('a directory at https brings the files of its index, and those below', async () => {
  await open({ args: ['--ca-file', '{world}/ca.pem'] });
  const url = await serveFiles({ '/d/': index('/d/', 'on%20create.sh', 'lib/'), '/d/lib/': index('/d/lib/', 'words.sh'), '/d/on%20create.sh': SCRIPT('. lib/words.sh'), '/d/lib/words.sh': 'echo from the library\n' });
  await create({ sourceS3Uri: `${url}/d/`, onCreate: 'on create.sh' });
  await world.ready(SLOW);
  assert.match(world.file(await instance(), 'agent/lifecycle.log'), /from the library/);
});

test('an index at https that leads to more directories than a source may have is refused', async () => {
  await open({ args: ['--ca-file', '{world}/ca.pem'], recovery: { scriptAttempts: 1 } });
  const names = Array.from({ length: 1100 }, (_, i) => `d${i}/`);
  const url = await serveFiles({ '/d/': index('/d/', ...names, 'on_create.sh'), '/d/on_create.sh': SCRIPT(''), ...Object.fromEntries(names.map((name) => [`/d/${name}`, index(`/d/${name}`)])) });
  await create({ sourceS3Uri: `${url}/d`, onCreate: 'on_create.sh' });
  assert.match((await failed()).error, /d1024\/: the source has more than 1024 directories/);
  assert.deepEqual(await runs(), []);
});

// The file of keys for a double of S3, in the world's directory.
function keys(s3, over = {}, mode = 0o600) {
  const values = { aws_access_key_id: s3.key, aws_secret_access_key: s3.secret, ...(s3.token && { aws_session_token: s3.token }), region: s3.region, endpoint_url: s3.url, ...over };
  writeFileSync(join(world.dir, 's3.conf'), `[default]\n${Object.entries(values).map(([k, v]) => `${k} = ${v}\n`).join('')}`);
  chmodSync(join(world.dir, 's3.conf'), mode);
}

async function openS3({ over, mode, s3: more } = {}) {
  await open({ args: ['--s3-config', '{world}/s3.conf'], recovery: { scriptAttempts: 1 } });
  const s3 = await new S3({ objects: { 'a b/on_create.sh': SCRIPT('. lib/words.sh'), 'a b/lib/words.sh': 'echo from the bucket\n', 'a b/lib/': '', 'a b/lib/üñ+&.txt': 'x', 'a bc/other.sh': 'other' }, ...more }).start();
  server = { close: (done) => s3.end().then(done) };
  keys(s3, over, mode);
  return s3;
}

for (const token of [undefined, 'a/session+token=='])
  test(`scripts come from s3, in signed requests${token ? ' with a session token' : ''}`, async () => {
    const s3 = await openS3({ s3: { token } });
    await create({ sourceS3Uri: 's3://scripts/a b/', onCreate: 'on_create.sh' });
    await world.ready(SLOW);
    assert.deepEqual(s3.refused, []);
    const id = await instance();
    assert.match(world.file(id, 'agent/lifecycle.log'), /from the bucket/);
    assert.equal(world.file(id, 'agent/lifecycle/source/lib/üñ+&.txt'), 'x');
    assert.ok(s3.asked.filter((url) => url.includes('list-type=2')).length >= 2, 'in pages');
    assert.ok(!s3.asked.some((url) => url.includes('other.sh')));
  });

test('an archive comes from s3', async () => {
  const s3 = await openS3();
  const dir = join(world.dir, 'packed');
  mkdirSync(dir);
  writeFileSync(join(dir, 'on_create.sh'), SCRIPT('echo from the archive'));
  assert.equal(spawnSync('tar', ['-czf', join(world.dir, 'a.tar.gz'), '-C', dir, '.']).status, 0);
  s3.objects['x/a.tar.gz'] = readFileSync(join(world.dir, 'a.tar.gz'));
  await create({ sourceS3Uri: 's3://scripts/x/a.tar.gz', onCreate: 'on_create.sh' });
  await world.ready(SLOW);
  assert.match(world.file(await instance(), 'agent/lifecycle.log'), /from the archive/);
});

const buckets = {
  'a wrong secret': { says: /403 SignatureDoesNotMatch/, over: { aws_secret_access_key: 'wrong' } },
  'keys that others may read': { says: /s3\.conf: others may read or write it: chmod 600/, mode: 0o644 },
  'a key of the file that is none': { says: /"regoin" is not known here \(the nearest is "region"\)/, over: { regoin: 'x' } },
  'an endpoint in plain HTTP elsewhere': { says: /source cannot be fetched.*http/i, over: { endpoint_url: 'http://192.0.2.1:9000' } },
  'a prefix with nothing below': { says: /there is no object below this prefix/, source: 's3://scripts/none' },
  'a key that leads out': { says: /does not stay below the source/, s3: { objects: { 'a b/../../x.sh': 'x', 'a b/on_create.sh': SCRIPT('') } } },
};
for (const [what, { says, source = 's3://scripts/a b', ...more }] of Object.entries(buckets))
  test(`s3 is refused, in words: ${what}`, async () => {
    await openS3(more);
    await create({ sourceS3Uri: source, onCreate: 'on_create.sh' });
    assert.match((await failed()).error, says);
    assert.deepEqual(await runs(), []);
  });

const sources = {
  'a CA that nobody gave': { says: /source cannot be fetched.*certificate/i, config: async () => ({ sourceS3Uri: await serveFiles({ '/a.sh': SCRIPT('') }), onCreate: 'a.sh' }), args: [] },
  'a certificate of another name': { says: /source cannot be fetched.*certificate/i, config: async () => ({ sourceS3Uri: await serveFiles({ '/a.sh': SCRIPT('') }, 'DNS:elsewhere.example'), onCreate: 'a.sh' }) },
  'a file that is not there': { says: /404/, config: async () => ({ sourceS3Uri: await serveFiles({}), onCreate: 'a.sh' }) },
  'a redirect': { says: /302; redirects are not followed/, config: async () => ({ sourceS3Uri: await serveFiles({ '/a.sh': { status: 302, headers: { location: 'http://127.0.0.1/' } } }), onCreate: 'a.sh' }) },
  'a file that is too large': { says: /source cannot be fetched/, config: async () => ({ sourceS3Uri: await serveFiles({ '/a.sh': Buffer.alloc(17 << 20) }), onCreate: 'a.sh' }) },
  'a script that is a link': { says: /symbolic links are not followed/, config: () => (symlinkSync('/bin/true', join(world.source, 'a.sh')), { onCreate: 'a.sh' }) },
  'a link elsewhere in it': { says: /symbolic links are not followed/, config: () => (mkdirSync(join(world.source, 'lib')), symlinkSync('/etc', join(world.source, 'lib', 'etc')), { onCreate: put('a.sh', SCRIPT('')) }) },
  'a pipe in it': { says: /neither a file nor a directory/, config: () => (spawnSync('mkfifo', [join(world.source, 'pipe')]), { onCreate: put('a.sh', SCRIPT('')) }) },
  'a directory that is too large': { says: /more than 64 MiB/, config: () => (writeFileSync(join(world.source, 'image'), Buffer.alloc(65 << 20)), { onCreate: put('a.sh', SCRIPT('')) }) },
  'a directory that is not there': { says: /source cannot be fetched/, config: () => ({ sourceS3Uri: `file://${world.dir}/nothing`, onCreate: 'a.sh' }) },
  'no such file in it': { says: /the source has no such file/, config: () => ({ onCreate: 'a.sh' }) },
  'an interpreter that is not there': { says: /ended with exit code 127/, runs: true, config: () => ({ onCreate: put('a.sh', '#!/no/such/shell\n') }) },
  's3 without keys': { says: /this agent has no keys for s3; start it with --s3-config FILE/, config: () => ({ sourceS3Uri: 's3://bucket/prefix', onCreate: 'a.sh' }) },
  'an agent that runs none': { says: /started with --no-lifecycle/, args: ['--no-lifecycle'], config: () => ({ onCreate: put('a.sh', SCRIPT('')) }) },
};
for (const [what, { says, config, args = ['--ca-file', '{world}/ca.pem'] }] of Object.entries(sources))
  test(`it is refused, in words: ${what}`, async () => {
    await open({ args, recovery: { scriptAttempts: 1 } });
    await create(await config());
    assert.match((await failed()).error, says);
    assert.deepEqual(await runs(), []);
  });

test('what no agent could carry out is refused at the API', async () => {
  await open();
  const refused = { '../a.sh': /lifeCycleConfig\.onCreate: it must name a file below/, '/bin/sh': /lifeCycleConfig\.onCreate: it must name a file below/, 'a//b': /lifeCycleConfig\.onCreate: it must name a file below/ };
  for (const [onCreate, says] of Object.entries(refused)) await assert.rejects(() => create({ onCreate }), says);
  await assert.rejects(() => create({ sourceS3Uri: 'http://host/prefix', onCreate: 'a.sh' }), /sourceS3Uri/);
});
