// Makes sigv4.json: requests signed by the signer of the AWS SDK for JavaScript, and by a second one written here from
// the published algorithm, which signs the four headers that botocore does.
//
//   npm install @smithy/signature-v4 @smithy/protocol-http @aws-crypto/sha256-js
//   node tests/data/aws/sigv4.mjs >tests/data/aws/sigv4.json
//
// Keys and secrets are made up. A vector is {name, secret, now, method, path, query, headers, body}.
import { createHash, createHmac } from 'node:crypto';
import { createRequire } from 'node:module';
const require = createRequire(`${process.cwd()}/`);
const { SignatureV4 } = require('@smithy/signature-v4');
const { HttpRequest } = require('@smithy/protocol-http');
const { Sha256 } = require('@aws-crypto/sha256-js');

const SECRET = 'hold+fast/SECRET0123456789abcdefghijklmn';
const KEY = 'HFAKEXAMPLE0123456789';
const NOW = Date.UTC(2026, 10, 20, 15, 4, 5);
const HEADERS = {
    'content-type': 'application/x-amz-json-1.1', 'x-amz-target': 'SageMaker.ListClusters', host: 'holdfast.example:8700',
    'content-length': '2', 'user-agent': 'aws-sdk-js/3.1142.0', 'x-amz-user-agent': 'aws-sdk-js/3.1142.0',
    'amz-sdk-invocation-id': '0b7c6a52-6a0f-4c37-9a4b-5d9f1b1c2d3e', 'amz-sdk-request': 'attempt=1; max=3',
};

const wireQuery = (query) =>
    Object.entries(query).flatMap(([k, v]) => (Array.isArray(v) ? v : [v]).map((one) => `${encodeURIComponent(k)}=${encodeURIComponent(one)}`)).join('&');

async function sdk(name, { path = '/', query = {}, headers = {}, body = '{}', region = 'hp-local-1', method = 'POST', secret = SECRET, token } = {}) {
    const signer = new SignatureV4({
        credentials: { accessKeyId: KEY, secretAccessKey: secret, ...(token && { sessionToken: token }) }, region,
        service: 'sagemaker', sha256: Sha256,
    });
    const all = { ...HEADERS, 'content-length': String(Buffer.byteLength(body)), ...headers };
    const request = new HttpRequest({ method, protocol: 'http:', hostname: 'holdfast.example', path, query, headers: all, body });
    const signed = await signer.sign(request, { signingDate: new Date(NOW) });
    return { name, secret, now: NOW, method, path, query: wireQuery(query), headers: Object.entries(signed.headers), body };
}

function four(name, { body = '{"ClusterName": "nope"}', target = 'SageMaker.DescribeCluster', region = 'eu-x-1' } = {}) {
    const date = '20261120T150405Z';
    const scope = `${date.slice(0, 8)}/${region}/sagemaker/aws4_request`;
    const headers = { 'Content-Type': 'application/x-amz-json-1.1', Host: 'localhost:8700', 'X-Amz-Date': date, 'X-Amz-Target': target };
    const hash = (text) => createHash('sha256').update(text).digest('hex');
    const mac = (key, text) => createHmac('sha256', key).update(text).digest();
    const lines = Object.entries(headers).map(([k, v]) => `${k.toLowerCase()}:${v}\n`).join('');
    const signedHeaders = 'content-type;host;x-amz-date;x-amz-target';
    const canonical = `POST\n/\n\n${lines}\n${signedHeaders}\n${hash(body)}`;
    const key = ['aws4_request', 'sagemaker', region, date.slice(0, 8)].reduceRight(mac, `AWS4${SECRET}`);
    const signature = mac(key, `AWS4-HMAC-SHA256\n${date}\n${scope}\n${hash(canonical)}`).toString('hex');
    const authorization = `AWS4-HMAC-SHA256 Credential=${KEY}/${scope}, SignedHeaders=${signedHeaders}, Signature=${signature}`;
    return {
        name, secret: SECRET, now: NOW, method: 'POST', path: '/', query: '', body,
        headers: [...Object.entries(headers), ['User-Agent', 'aws-cli/1.45.11'], ['Accept-Encoding', 'identity'], ['Authorization', authorization]],
    };
}

const vectors = [
    await sdk('nine headers'),
    await sdk('another region', { region: 'us-west-2' }),
    await sdk('a path in front', { path: '/hyperpod/api/' }),
    await sdk('a path with escapes', { path: '/hyper%20pod/%C3%A9t%C3%A9/a~b_c-d.e!(f)*/' }),
    await sdk('a path with dots and empty segments', { path: '/a//b/./c/../d/' }),
    await sdk('a path that ends in dots', { path: '/a/b/..' }),
    await sdk('a path above the root', { path: '/../..' }),
    await sdk('a path of a star', { path: '/a*b' }),
    await sdk('a query', { query: { b: 'two words', a: '1', B: '', 'a-b': "x'y(z)*!~", 'é': 'ü/?' } }),
    await sdk('a query of one name twice', { query: { a: ['2', '10', '1'] } }),
    await sdk('blanks in values', { headers: { 'x-amz-meta': '  one   two\t three  ', 'x-amz-empty': '' } }),
    await sdk('no body', { body: '' }),
    await sdk('a body beyond ASCII', { body: JSON.stringify({ Description: 'Kältekammer \u2028 🐎' }) }),
    await sdk('a large body', { body: JSON.stringify({ NodeIds: Array.from({ length: 300 }, (_, i) => `i-${String(i).padStart(17, '0')}`) }) }),
    await sdk('another method', { method: 'GET', body: '' }),
    await sdk('a long secret', { secret: 's'.repeat(100) }),
    four('four headers'),
    four('four headers, empty input', { body: '{}', target: 'SageMaker.ListClusters', region: 'hp-local-1' }),
];
process.stdout.write(`[\n${vectors.map((vector) => JSON.stringify(vector)).join(',\n')}\n]\n`);
