// A service description for the `aws` command, made of api/aws/model.json: the form in which botocore keeps its services.
// Debian's command is older than HyperPod and knows none of its operations; with this it speaks all of them.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from './programs.mjs';

const API_VERSION = '2017-07-24';
const ERRORS = ['ConflictException', 'ResourceInUse', 'ResourceLimitExceeded', 'ResourceNotFound'];

const limits = ({ min, max, pattern }) => ({ ...(min !== undefined && { min }), ...(max !== undefined && { max }), ...(pattern && { pattern }) });

function members(shape) {
  const out = { type: 'structure', members: {}, ...(shape.is === 'union' && { union: true }) };
  const required = [];
  for (const [name, of] of Object.entries(shape.members)) {
    const flag = /[!~]$/.exec(of)?.[0];
    out.members[name] = { shape: of.replace(/[!~]$/, ''), ...(flag === '~' && { idempotencyToken: true }) };
    if (flag === '!') required.push(name);
  }
  return { ...out, ...(required.length > 0 && { required }) };
}

function shapeOf(shape) {
  switch (shape.is) {
    case 'structure': case 'union': return members(shape);
    case 'list': return { type: 'list', member: { shape: shape.of }, ...limits(shape) };
    case 'map': return { type: 'map', key: { shape: shape.key }, value: { shape: shape.of }, ...limits(shape) };
    case 'enum': return { type: 'string', enum: shape.values };
    default: return { type: shape.is, ...limits(shape) };
  }
}

export const model = () => JSON.parse(readFileSync(join(root, 'api/aws/model.json'), 'utf8'));

function service() {
  const { operations, shapes } = model();
  const empty = { ErrorText: { type: 'string' } };
  for (const name of ERRORS) empty[name] = { type: 'structure', members: { Message: { shape: 'ErrorText' } }, exception: true };
  return {
    version: '2.0',
    metadata: {
      apiVersion: API_VERSION, endpointPrefix: 'hyperpod', jsonVersion: '1.1', protocol: 'json', serviceFullName: 'HyperPod', serviceId: 'HyperPod',
      signatureVersion: 'v4', signingName: 'sagemaker', targetPrefix: 'SageMaker', uid: `hyperpod-${API_VERSION}`,
    },
    operations: Object.fromEntries(Object.entries(operations).map(([name, one]) => [name, {
      name, http: { method: 'POST', requestUri: '/' }, input: { shape: one.in }, ...(one.out && { output: { shape: one.out } }),
      errors: one.errors.map((shape) => ({ shape })),
    }])),
    shapes: { ...empty, ...Object.fromEntries(Object.entries(shapes).map(([name, shape]) => [name, shapeOf(shape)])) },
  };
}

const paginators = () => ({
  pagination: Object.fromEntries(Object.entries(model().operations).filter(([, one]) => one.items).map(([name, one]) => [name, {
    input_token: 'NextToken', output_token: 'NextToken', limit_key: 'MaxResults', result_key: one.items,
  }])),
});

// The file for `aws configure add-model`.
export function writeService(dir) {
  const file = join(dir, 'service-2.json');
  writeFileSync(file, JSON.stringify(service()));
  return file;
}

// Beside the model, once it was added to home: so that the command turns pages by itself.
export function writePaginators(home, name) {
  const dir = join(home, '.aws/models', name, API_VERSION);
  mkdirSync(dir, { recursive: true });
  writeFileSync(join(dir, 'paginators-1.json'), JSON.stringify(paginators()));
}
