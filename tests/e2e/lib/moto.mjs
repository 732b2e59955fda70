// moto's EC2 (tests/support/moto-lab), and an agent on each of its instances, set up by the instance's user data as cloud-init would do it.
import { spawn, spawnSync } from 'node:child_process';
import { createServer } from 'node:http';
import { appendFileSync, closeSync, mkdirSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { randomUUID } from 'node:crypto';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { agentPath, root } from './programs.mjs';

const SCOPE = 'AWS4-HMAC-SHA256 Credential=test/20261120/us-west-2/ec2/aws4_request, SignedHeaders=host, Signature=0'; // moto reads whose it is
const LOOK_MS = 300;

export class Moto {
  constructor() {
    this.dir = mkdtempSync(join(tmpdir(), 'holdfast-moto.'));
    this.agents = new Map();
    this.settings = new Map();
  }

  // Why this machine cannot have it; undefined when it runs.
  start() {
    const lab = spawnSync(join(root, 'tests/support/moto-lab'), ['start', this.dir], { encoding: 'utf8', timeout: 400000 });
    if (lab.status === 77) return lab.stderr.trim().split('\n').at(-1);
    if (lab.status !== 0) throw new Error(lab.stderr);
    this.url = `http://127.0.0.1:${readFileSync(join(this.dir, 'port'), 'utf8')}`;
    this.keys = join(this.dir, 'keys');
    writeFileSync(this.keys, '[default]\naws_access_key_id = test\naws_secret_access_key = test\n', { mode: 0o600 });
    this.watching = this.watch();
    this.planned = new Map();
    this.done = { RunInstances: [], RebootInstances: [], TerminateInstances: [] }; // what moto did, by the instance or the client token
    return undefined;
  }

  // moto has no scheduled events: this address answers for DescribeInstanceStatus what plan() was told, and gives moto all else.
  async frontUrl() {
    this.front = createServer(async (request, reply) => {
      const chunks = [];
      for await (const chunk of request) chunks.push(chunk);
      const body = Buffer.concat(chunks);
      let answer;
      if (this.planned.size > 0 && new URLSearchParams(body.toString()).get('Action') === 'DescribeInstanceStatus') answer = { status: 200, text: this.statuses() };
      else {
        const { authorization } = request.headers;
        const got = await fetch(this.url, { method: 'POST', headers: { authorization, 'content-type': request.headers['content-type'] }, body }).catch(() => undefined);
        answer = { status: got?.status ?? 503, text: (await got?.text()) ?? '' };
        if (answer.status === 200) await this.note(new URLSearchParams(body.toString()));
      }
      reply.writeHead(answer.status, { 'content-type': 'text/xml' }).end(answer.text);
    });
    await new Promise((done) => this.front.listen(0, '127.0.0.1', done));
    return `http://127.0.0.1:${this.front.address().port}`;
  }

  // An instance that is rebooted has another boot, which its agent tells.
  note(asked) {
    const id = asked.get('InstanceId.1');
    this.done[asked.get('Action')]?.push(id ?? asked.get('ClientToken'));
    if (asked.get('Action') === 'RebootInstances' && this.agents.has(id)) return this.boot(id);
    return undefined;
  }

  statuses() {
    const items = [...this.planned].map(([id, { code, at }]) => `<item><instanceId>${id}</instanceId><eventsSet><item><instanceEventId>instance-event-${id}</instanceEventId><code>${code}</code>`
      + `<description>The instance is running on degraded hardware</description><notBefore>${at.toISOString()}</notBefore></item></eventsSet></item>`);
    return `<DescribeInstanceStatusResponse xmlns="http://ec2.amazonaws.com/doc/2016-11-15/"><instanceStatusSet>${items.join('')}</instanceStatusSet></DescribeInstanceStatusResponse>`;
  }

  plan(id, code, at) {
    this.planned.set(id, { code, at });
  }

  async ask(action, parameters = {}) {
    const body = new URLSearchParams({ Action: action, Version: '2016-11-15', ...parameters });
    const reply = await fetch(this.url, { method: 'POST', headers: { Authorization: SCOPE }, body, signal: AbortSignal.timeout(120000) });
    const text = await reply.text();
    if (reply.status !== 200) throw new Error(text);
    return text;
  }

  // Every instance that there ever was.
  async instances() {
    const items = (await this.ask('DescribeInstances')).split('<reservationId>').slice(1);
    return items.map((text) => ({
      id: /<instanceId>(i-[0-9a-f]+)</.exec(text)[1],
      state: /<instanceState>.*?<name>([a-z-]+)</.exec(text)[1],
      type: /<instanceType>([^<]+)</.exec(text)[1],
      subnet: /<subnetId>([^<]+)</.exec(text)?.[1],
      tags: Object.fromEntries([...text.matchAll(/<item><key>([^<]*)<\/key><value>([^<]*)<\/value><\/item>/g)].map((m) => [m[1], m[2]])),
    }));
  }

  async running() {
    return (await this.instances()).filter((instance) => instance.state === 'running');
  }

  // Only what runs is asked for: moto keeps what was terminated, and gets slow with it.
  async watch() {
    while (!this.ended) {
      const text = await this.ask('DescribeInstances', { 'Filter.1.Name': 'instance-state-name', 'Filter.1.Value.1': 'running' }).catch(() => undefined);
      const running = new Set([...(text ?? '').matchAll(/<instanceId>(i-[0-9a-f]+)</g)].map((match) => match[1]));
      for (const id of running) if (!this.ended && !this.agents.has(id)) await this.on(id).catch(() => {}); // the next look
      if (text !== undefined) for (const id of this.agents.keys()) if (!running.has(id)) this.off(id);
      await new Promise((done) => setTimeout(done, LOOK_MS));
    }
  }

  async on(id) {
    const data = /<value>([^<]*)</.exec(await this.ask('DescribeInstanceAttribute', { InstanceId: id, Attribute: 'userData' }))[1];
    const files = JSON.parse(Buffer.from(data, 'base64').toString().replace('#cloud-config\n', '')).write_files;
    const content = (path) => files.find((file) => file.path === path).content;
    const settings = Object.fromEntries(content('/etc/holdfast/agent.env').trim().split('\n').map((line) => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)]));
    const where = join(this.dir, id);
    mkdirSync(where);
    for (const [name, text] of [['token', content('/etc/holdfast/agent.token')], ['kmsg', '']]) writeFileSync(join(where, name), text, { mode: 0o600 });
    this.settings.set(id, settings);
    await this.boot(id);
  }

  // The agent of the boot before has ended when the next one begins.
  async boot(id) {
    const before = this.agents.get(id);
    const where = join(this.dir, id);
    const settings = this.settings.get(id);
    this.off(id);
    if (before && before.exitCode === null && before.signalCode === null) await new Promise((done) => before.once('exit', done));
    writeFileSync(join(where, 'boot_id'), `${randomUUID()}\n`);
    const log = openSync(join(where, 'log'), 'a');
    this.agents.set(id, spawn(agentPath, ['--server', settings.HPD_URL, '--state-dir', join(where, 'agent'), '--token-file', join(where, 'token'),
      ...settings.HP_AGENT_OPTIONS.split(' '), '--kmsg', join(where, 'kmsg'), '--boot-id-file', join(where, 'boot_id'), '--checks', 'none'],
    { stdio: ['ignore', log, log] }));
    closeSync(log);
  }

  off(id) {
    const agent = this.agents.get(id);
    if (agent && agent.exitCode === null && agent.signalCode === null) agent.kill('SIGKILL');
  }

  kernel(id, line) {
    appendFileSync(join(this.dir, id, 'kmsg'), `${line}\n`);
  }

  async end() {
    this.ended = true;
    await this.watching;
    this.front?.closeAllConnections();
    this.front?.close();
    for (const id of this.agents.keys()) this.off(id);
    spawnSync(join(root, 'tests/support/moto-lab'), ['stop', this.dir]);
    rmSync(this.dir, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
  }
}
