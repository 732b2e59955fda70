// Wrong requests that can be made from openapi.yaml alone: each operation is asked in every way in which anybody can get it
// wrong, and has to refuse with the status that the document has for that. What needs a story is told in contract.test.mjs.
import http from 'node:http';
import { requestBody } from './contract.mjs';

const TOO_LARGE_BYTES = 3 << 20; // above every body's limit, below what the server reads before it closes
const HEADER_TOO_LARGE = 'x'.repeat(5000);
// Keys of these live with what they started.
const KEEP_THEIR_KEY = new Set(['rebootNode', 'replaceNode', 'releaseNode', 'addNodes']);

// One exchange as it is: a GET with a body, a header of any size. Returns {status, headers, text}.
export function exchange(url, method, { headers = {}, body } = {}) {
  return new Promise((resolve, reject) => {
    const request = http.request(url, { method, headers: body === undefined ? headers : { 'content-length': Buffer.byteLength(body), ...headers } }, (reply) => {
      let text = '';
      reply.setEncoding('utf8').on('data', (data) => (text += data)).on('end', () => resolve({ status: reply.statusCode, headers: new Headers(reply.headers), text }));
    });
    request.on('error', reject).end(body);
  });
}

const media = (operation) => Object.keys(requestBody(operation)?.content ?? {})[0];

// The body of the document's own example.
export function exampleBody(operation) {
  const type = media(operation);
  const content = type && requestBody(operation).content[type];
  const value = content?.example ?? Object.values(content?.examples ?? {})[0]?.value;
  return value === undefined ? undefined : JSON.stringify(value);
}

// Yields [status, path, options of exchange] for an operation. tokens: {admin, viewer, agent}. known: path parameters that are
// there. usedKey: an Idempotency-Key of the admin's that belongs to another request.
export function* wrong(operation, tokens, known, usedKey) {
  const declared = (status) => operation.responses[status] !== undefined;
  const path = (names) => operation.path.replace(/\{(\w+)\}/g, (_, name) => encodeURIComponent(names?.[name] ?? 'nothing-there'));
  const here = path(known);
  const needed = new URLSearchParams(operation.parameters.filter((p) => p.in === 'query' && p.required).map((p) => [p.name, p.example])).toString();
  const scheme = Object.keys((operation.security ?? [{ apiToken: [] }])[0] ?? {})[0];
  const token = { apiToken: tokens.admin, nodeCredential: tokens.agent, enrollmentToken: 'hfe_nobody' }[scheme];
  const authorization = token === undefined ? {} : { authorization: `Bearer ${token}` };
  const type = media(operation);
  const typed = { ...authorization, ...(type ? { 'content-type': type } : {}) };
  const signed = scheme === 'awsSignature';
  const body = exampleBody(operation);

  yield [431, here, { headers: { ...authorization, 'x-filler': HEADER_TOO_LARGE } }];
  if (declared(401) && token !== undefined) {
    yield [401, here, { headers: type ? { 'content-type': type } : {} }];
    yield [401, here, { headers: { ...typed, authorization: 'Bearer nonsense' } }];
    yield [401, here, { headers: { ...typed, authorization: `${typed.authorization.slice(0, -2)}xx` }, body }];
  }
  if (declared(403) && scheme === 'apiToken') yield [403, here, { headers: { ...typed, authorization: `Bearer ${tokens.viewer}` }, body }];
  if (type && !signed) {
    yield [413, here, { headers: typed, body: ' '.repeat(TOO_LARGE_BYTES) }];
    if (scheme === 'enrollmentToken') return; // what comes now is looked at when the token is known
    yield [415, here, { headers: { ...typed, 'content-type': 'text/plain' }, body: body ?? '{}' }];
    for (const bad of ['{', '[]', '{"colour":"red"}', '{"a":1,"a":1}', '\u0000', '{"\ud800":1}'])
      yield [400, here, { headers: typed, body: bad }];
  }
  if (!type) yield [400, here, { headers: authorization, body: 'nobody asked' }];
  // The shortest ways are answered by the event loop, which leaves the query alone.
  if (scheme === 'apiToken') {
    yield [400, `${here}?colour=red`, { headers: typed, body }];
    for (const { name, schema } of operation.parameters.filter((p) => p.in === 'query' && p.name === 'limit'))
      for (const bad of [schema.minimum - 1, schema.maximum + 1, 'many', '']) yield [400, `${here}?${name}=${bad}`, { headers: authorization }];
    for (const { name } of operation.parameters.filter((p) => p.in === 'header' && p.name === 'Idempotency-Key'))
      for (const bad of ['two words', 'x'.repeat(65)]) yield [400, here, { headers: { ...typed, [name]: bad }, body }];
    for (const { name } of operation.parameters.filter((p) => p.in === 'header' && p.name === 'If-Match'))
      for (const bad of ['"999999999"', '3', '"three"']) yield [412, here, { headers: { ...typed, [name]: bad }, body }];
    if (!KEEP_THEIR_KEY.has(operation.operationId) && operation.parameters.some((p) => p.name === 'Idempotency-Key'))
      yield [409, here, { headers: { ...typed, 'idempotency-key': usedKey }, body }];
  }
  if (operation.path.includes('{')) yield [404, `${path()}${needed && `?${needed}`}`, { headers: typed, body }];
}
