// openapi.yaml as something to check replies against: which operation, which status, which media type, which schema.
// Schemas are closed for the check (a member that is not in the contract is a fault) although the contract itself lets
// replies grow.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import Ajv2020 from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { parse } from 'yaml';
import { root } from '../lib/programs.mjs';

export const openapiPath = join(root, 'openapi.yaml');
export const openapiText = readFileSync(openapiPath, 'utf8');
export const openapi = parse(openapiText);

const METHODS = ['get', 'post', 'put', 'patch', 'delete'];

// Every operation with its path and method, by operationId.
export const operations = new Map();
for (const [path, item] of Object.entries(openapi.paths))
  for (const method of METHODS)
    if (item[method]) {
      const parameters = [...(item.parameters ?? []), ...(item[method].parameters ?? [])].map(deref);
      operations.set(item[method].operationId, { ...item[method], parameters, path, method: method.toUpperCase() });
    }

// unevaluatedProperties: false on each object, but not inside allOf and anyOf, whose parts know only a share of it.
function close(schema, part = false) {
  if (Array.isArray(schema)) return schema.map((s) => close(s, part));
  if (schema === null || typeof schema !== 'object') return schema;
  const closed = {};
  for (const [key, value] of Object.entries(schema)) {
    if (key === 'properties') closed[key] = Object.fromEntries(Object.entries(value).map(([k, v]) => [k, close(v)]));
    else closed[key] = close(value, key === 'allOf' || key === 'anyOf');
  }
  const own = schema.properties !== undefined || schema.allOf !== undefined;
  if (own && !part && schema.additionalProperties === undefined) closed.unevaluatedProperties = false;
  return closed;
}

const ajv = new Ajv2020({ strict: false, allErrors: true });
addFormats.default(ajv);
const schemas = Object.fromEntries(Object.entries(openapi.components.schemas).map(([name, schema]) => [name, close(schema)]));
// What others build on with allOf must stay open where it is a part; the closed one is the whole.
for (const name of ['ClusterSummary', 'Node', 'Token', 'AccessKey', 'Incident', 'Job', 'Verdict', 'Scheduler']) schemas[`${name}Part`] = { ...schemas[name], unevaluatedProperties: undefined };
const rewritten = JSON.parse(
  JSON.stringify(schemas, (key, value) =>
    key === 'allOf' ? value.map((s) => (s.$ref && schemas[`${s.$ref.split('/').pop()}Part`] ? { $ref: `${s.$ref}Part` } : s)) : value));
ajv.addSchema({ $id: 'holdfast', components: { schemas: rewritten } });

const compiled = new Map();
function validator(schema) {
  const text = JSON.stringify(schema).replaceAll('"#/components', '"holdfast#/components');
  if (!compiled.has(text)) compiled.set(text, ajv.compile(JSON.parse(text)));
  return compiled.get(text);
}

export function assertValid(schema, value, what) {
  const validate = validator(schema);
  if (!validate(value))
    throw new Error(`${what} is not what openapi.yaml says:\n${ajv.errorsText(validate.errors, { separator: '\n' })}\n${JSON.stringify(value, null, 2)}`);
}

export function deref(thing) {
  return thing?.$ref === undefined ? thing : thing.$ref.split('/').slice(1).reduce((at, key) => at[key], openapi);
}

export const requestBody = (operation) => deref(operation.requestBody);

// The response that the contract has for a status; undefined when it does not name it.
export const response = (operation, status) => deref(operation.responses[status]);

// "describeNode 404" for every reply that was checked.
export const answered = new Set();

// headers: a Headers object. body: as text.
export function assertReply(operation, status, headers, body) {
  answered.add(`${operation.operationId} ${status}`);
  const what = `${operation.operationId} ${status}`;
  const wanted = response(operation, status);
  if (!wanted) throw new Error(`${what} is not in openapi.yaml: ${body}`);
  for (const [name, header] of Object.entries(wanted.headers ?? {})) {
    const value = headers.get(name);
    const schema = deref(header).schema;
    if (value === null) throw new Error(`${what} has no header ${name}`);
    assertValid(schema, schema.type === 'integer' ? Number(value) : value, `${what} header ${name}`);
  }
  const type = headers.get('content-type')?.split(';')[0] ?? null;
  if (!wanted.content) {
    if (body !== '' || type !== null) throw new Error(`${what} should have no body, has ${type}: ${body}`);
    return undefined;
  }
  if (body === '' && headers.get('content-length') > 0) return undefined; // of HEAD
  if (!wanted.content[type]) throw new Error(`${what} is ${type}, openapi.yaml has ${Object.keys(wanted.content)}`);
  if (!/json(-1\.1)?$/.test(type)) return body;
  const value = JSON.parse(body);
  assertValid(wanted.content[type].schema, value, what);
  return value;
}
