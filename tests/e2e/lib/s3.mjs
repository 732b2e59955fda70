// A small S3: ListObjectsV2 and GET, in pages, for signed requests only. The signature is checked by the public algorithm, from what came in.
import { createHash, createHmac } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';

const hash = (data) => createHash('sha256').update(data).digest('hex');
const hmac = (key, data) => createHmac('sha256', key).update(data).digest();
const xml = (text) => text.replace(/[&<>"]/g, (c) => `&#${c.charCodeAt(0)};`);
const encode = (text) => encodeURIComponent(text).replace(/[!'()*]/g, (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`);

export class S3 {
  // objects: key → text, of the one bucket. pageMax: keys a page.
  constructor({ bucket = 'scripts', objects = {}, key = 'AKIATEST', secret = 'se/cret+', token, region = 'eu-test-1', pageMax = 2 } = {}) {
    Object.assign(this, { bucket, objects, key, secret, token, region, pageMax, asked: [], refused: [] });
    this.server = createServer((request, reply) => this.answer(request, reply));
  }

  async start() {
    this.server.listen(0, '127.0.0.1');
    await once(this.server, 'listening');
    this.url = `http://127.0.0.1:${this.server.address().port}`;
    return this;
  }

  end() {
    this.server.closeAllConnections();
    return new Promise((done) => this.server.close(done));
  }

  // Why the signature is refused; undefined when it is good.
  refusal({ method, url, headers }) {
    const parts = /^AWS4-HMAC-SHA256 Credential=([^/]+)\/(\d{8})\/([^/]+)\/s3\/aws4_request, SignedHeaders=([a-z0-9;-]+), Signature=([0-9a-f]{64})$/.exec(headers.authorization ?? '');
    if (!parts) return 'AccessDenied';
    const [, key, day, region, names, signature] = parts;
    if (key !== this.key) return 'InvalidAccessKeyId';
    const wanted = ['host', 'x-amz-content-sha256', 'x-amz-date', ...(this.token ? ['x-amz-security-token'] : [])];
    if (region !== this.region || names !== wanted.join(';') || headers['x-amz-security-token'] !== this.token) return 'AuthorizationHeaderMalformed';
    const date = headers['x-amz-date'];
    const at = Date.parse(date.replace(/(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z/, '$1-$2-$3T$4:$5:$6Z'));
    if (!date.startsWith(day) || !(Math.abs(at - Date.now()) < 300000)) return 'RequestTimeTooSkewed';
    const [path, query = ''] = url.split('?');
    const sorted = query.split('&').filter(Boolean).map((part) => part.split('=').map((one) => encode(decodeURIComponent(one ?? '')))).sort(([a], [b]) => (a < b ? -1 : 1)).map((pair) => pair.join('=')).join('&');
    const escaped = path.split('/').map((part) => encode(decodeURIComponent(part))).join('/');
    const canonical = [method, escaped, sorted, ...wanted.map((n) => `${n}:${headers[n]}`), '', names, hash('')].join('\n');
    const signing = [day, region, 's3', 'aws4_request'].reduce(hmac, `AWS4${this.secret}`);
    const right = hmac(signing, ['AWS4-HMAC-SHA256', date, `${day}/${region}/s3/aws4_request`, hash(canonical)].join('\n')).toString('hex');
    return signature === right ? undefined : 'SignatureDoesNotMatch';
  }

  answer(request, reply) {
    const error = (status, code) => reply.writeHead(status, { 'content-type': 'application/xml' }).end(`<?xml version="1.0" encoding="UTF-8"?>\n<Error><Code>${code}</Code><Message>no</Message></Error>`);
    const why = this.refusal(request);
    this.asked.push(request.url);
    if (why) {
      this.refused.push(why);
      return error(403, why);
    }
    const url = new URL(request.url, 'http://s3');
    const path = decodeURIComponent(url.pathname);
    if (path === `/${this.bucket}` && url.searchParams.get('list-type') === '2') return reply.end(this.page(url.searchParams));
    const body = path.startsWith(`/${this.bucket}/`) ? this.objects[path.slice(this.bucket.length + 2)] : undefined;
    return body === undefined ? error(404, 'NoSuchKey') : reply.end(body);
  }

  page(query) {
    const prefix = query.get('prefix') ?? '';
    const keys = Object.keys(this.objects).filter((key) => key.startsWith(prefix)).sort();
    const from = query.has('continuation-token') ? Number(/^next\+\/=(\d+)$/.exec(query.get('continuation-token'))[1]) : 0;
    const shown = keys.slice(from, from + this.pageMax);
    const cut = from + shown.length < keys.length;
    return `<?xml version="1.0" encoding="UTF-8"?>\n<ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><Name>${this.bucket}</Name><IsTruncated>${cut}</IsTruncated>`
      + shown.map((key) => `<Contents><Key>${xml(key)}</Key><Size>${this.objects[key].length}</Size></Contents>`).join('')
      + `${cut ? `<NextContinuationToken>next+/=${from + shown.length}</NextContinuationToken>` : ''}</ListBucketResult>`;
  }
}
