// What stands between hpd and a real API server and answers in its place now and then: refusals of an overloaded server (429), places that it
// has forgotten (410), and watches that break or end with "too old". What it does not answer itself it hands through, by hpd's own certificate.
// It runs on a thread of its own, as the stories block theirs.
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { request as requestOf, Agent } from 'node:https';
import { Worker, isMainThread, parentPort, workerData } from 'node:worker_threads';

// The kubeconfig of tests/support/kubernetes-lab.
function access(file) {
  const text = readFileSync(file, 'utf8');
  const of = (key) => Buffer.from(new RegExp(`${key}: ([^,}\\s]+)`).exec(text)[1], 'base64');
  return { server: new URL(/server: "([^"]+)"/.exec(text)[1]), ca: of('certificate-authority-data'), cert: of('client-certificate-data'), key: of('client-key-data') };
}

const status = (code, reason, message) => JSON.stringify({ kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure', code, reason, message });

class Proxy {
  constructor(kubeconfig) {
    this.access = access(kubeconfig);
    this.agent = new Agent({ keepAlive: true, ca: this.access.ca, cert: this.access.cert, key: this.access.key });
    this.rule = {};
    this.matched = 0;
    this.requests = []; // { at, method, path, watch, limit, code }
    this.watches = new Set();
    this.server = createServer((req, res) => this.take(req, res));
  }

  async start() {
    await new Promise((done) => this.server.listen(0, '127.0.0.1', done));
    return `http://127.0.0.1:${this.server.address().port}`;
  }

  // What the rule says: code, retryAfter; of those that have its method, path and watch each one, or every Nth; times: so often at most.
  own({ method, path, watch }) {
    const { rule } = this;
    if (!rule.code || (rule.method ?? method) !== method || (rule.path ?? path) !== path || (rule.watch ?? watch) !== watch) return undefined;
    if (++this.matched % (rule.every ?? 1) !== 0 || this.matched > (rule.times ?? Infinity)) return undefined;
    return rule;
  }

  setRule(rule) {
    this.rule = rule;
    this.matched = 0;
  }

  open() {
    return this.watches.size;
  }

  seen(from) {
    return this.requests.slice(from);
  }

  take(req, res) {
    const url = new URL(req.url, 'http://proxy');
    const seen = { at: Date.now(), method: req.method, path: url.pathname, watch: url.searchParams.get('watch') === 'true', limit: url.searchParams.get('limit') };
    this.requests.push(seen);
    const own = this.own(seen);
    if (own) {
      seen.code = own.code;
      req.resume();
      res.writeHead(own.code, { 'content-type': 'application/json', ...(own.retryAfter !== undefined && { 'retry-after': String(own.retryAfter) }) });
      return res.end(status(own.code, own.code === 410 ? 'Expired' : 'TooManyRequests', own.code === 410 ? 'The provided continue parameter is too old' : 'the server has received too many requests'));
    }
    const { server } = this.access;
    const { authorization, ...headers } = { ...req.headers, host: server.host }; // the certificate says who it is
    const up = requestOf({ host: server.hostname, port: server.port, method: req.method, path: req.url, headers, agent: this.agent }, (reply) => {
      seen.code = reply.statusCode;
      res.writeHead(reply.statusCode, reply.headers);
      res.flushHeaders();
      if (seen.watch) {
        const watch = { res, reply };
        this.watches.add(watch);
        res.on('close', () => this.watches.delete(watch));
      }
      reply.pipe(res);
      reply.on('error', () => res.destroy());
    });
    up.on('error', () => res.destroy());
    res.on('close', () => up.destroy());
    req.pipe(up);
  }

  // Open watches break in the middle of nothing.
  breakWatches() {
    for (const { res } of this.watches) res.destroy();
    return this.watches.size;
  }

  // They end as the server ends one whose place it has compacted away.
  expireWatches() {
    const open = [...this.watches];
    for (const { res, reply } of open) {
      reply.unpipe(res);
      reply.removeAllListeners('error').on('error', () => {});
      res.end(`${JSON.stringify({ type: 'ERROR', object: JSON.parse(status(410, 'Expired', 'too old resource version')) })}\n`);
    }
    return open.length;
  }
}

const VERBS = ['start', 'setRule', 'open', 'seen', 'breakWatches', 'expireWatches'];

export class KubernetesProxy {
  constructor(kubeconfig) {
    this.worker = new Worker(new URL(import.meta.url), { workerData: { kubeconfig } });
    this.waiting = new Map();
    this.count = 0;
    this.worker.on('message', ({ id, value }) => {
      this.waiting.get(id)(value);
      this.waiting.delete(id);
    });
    for (const verb of VERBS) this[verb] = (arg) => new Promise((done) => {
      this.waiting.set(++this.count, done);
      this.worker.postMessage({ id: this.count, verb, arg });
    });
  }

  end() {
    return this.worker.terminate();
  }
}

if (!isMainThread && workerData?.kubeconfig) {
  const proxy = new Proxy(workerData.kubeconfig);
  parentPort.on('message', async ({ id, verb, arg }) => parentPort.postMessage({ id, value: await proxy[verb](arg) }));
}
