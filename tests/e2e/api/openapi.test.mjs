// openapi.yaml by itself: a linter of its trade finds nothing, and every example is what its schema says.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import core from '@redocly/openapi-core';
import { assertValid, deref, openapi, openapiPath, operations, requestBody, response } from './contract.mjs';

// All that the linter calls an error, what it would only warn of, and what it leaves to taste.
const LINTED = {
  extends: ['recommended-strict'],
  rules: {
    'operation-description': 'error',
    'parameter-description': 'error',
    'operation-singular-tag': 'error',
    'operation-tag-defined': 'error',
    'no-http-verbs-in-paths': 'error',
    'path-http-verbs-order': 'error',
    'spec-strict-refs': 'error',
    'no-invalid-parameter-examples': 'error',
    'no-invalid-schema-examples': 'error',
    'no-required-schema-properties-undefined': 'error',
    'array-parameter-serialization': 'error',
    'operation-2xx-response': 'off', // below, where leading on to another path counts too
  },
};

test('openapi.yaml lints without a warning', async () => {
  const config = await core.createConfig(LINTED);
  const problems = await core.lint({ ref: openapiPath, config });
  assert.deepEqual(problems.map((p) => `${p.severity} ${p.ruleId}: ${p.message} (${p.location?.[0]?.pointer})`), []);
});

function* examples(media) {
  if (media.example !== undefined) yield media.example;
  for (const one of Object.values(media.examples ?? {})) yield deref(one).value;
}

// What a reader of an operation sees: its parameters, body, replies and errors, each as [what, thing, has it a body].
function* parts([id, operation]) {
  for (const parameter of operation.parameters) yield [`${id} parameter ${parameter.name}`, parameter];
  const body = requestBody(operation);
  if (body) yield [`${id} request`, body];
  for (const status of Object.keys(operation.responses)) {
    const reply = response(operation, status);
    yield [`${id} ${status}`, reply];
    for (const [name, header] of Object.entries(reply.headers ?? {})) yield [`${id} ${status} header ${name}`, deref(header)];
  }
}

test('every parameter, body, reply, header and error has a description and an example', () => {
  const missing = [];
  for (const operation of operations)
    for (const [what, part] of parts(operation)) {
      if (!part.description?.trim()) missing.push(`${what}: no description`);
      for (const [type, media] of Object.entries(part.content ?? (part.schema ? { value: part } : {})))
        if ([...examples(media)].length === 0) missing.push(`${what}: no example of ${type}`);
    }
  assert.deepEqual(missing, []);
});

test('every example is valid', () => {
  for (const operation of operations)
    for (const [what, part] of parts(operation))
      for (const [type, media] of Object.entries(part.content ?? (part.schema ? { value: part } : {})))
        for (const example of examples(media)) assertValid(media.schema, example, `${what} ${type}`);
});

// Errors that any request can meet are named, so that a client's author meets them here first.
test('every operation names the errors that it can answer with, and every write can be guarded', () => {
  const missing = [];
  for (const [id, operation] of operations) {
    const open = operation.security?.length === 0;
    const wanted = ['400', '431', '500', '503'];
    if (id !== 'callAws') {
      if (!open) wanted.push('401');
      if (/role (operator|admin)/.test(operation.description)) wanted.push('403');
      if (operation.path.includes('{')) wanted.push('404');
      if (operation.requestBody) wanted.push('413', '415');
    }
    if (!Object.keys(operation.responses).some((status) => status < 400)) missing.push(`${id}: no success`);
    if (operation.method !== 'GET' && operation.security === undefined && id !== 'createBackup') { // which changes nothing
      wanted.push('409');
      if (!operation.parameters.some((p) => p.name === 'Idempotency-Key')) missing.push(`${id}: no Idempotency-Key`);
      if (operation.method === 'PATCH' && !operation.parameters.some((p) => p.name === 'If-Match')) missing.push(`${id}: no If-Match`);
    }
    for (const status of wanted) if (!operation.responses[status]) missing.push(`${id} ${status}`);
    if (operation.responses.default) missing.push(`${id}: default names nothing`);
  }
  assert.deepEqual(missing, []);
});

test('every schema, parameter and response is used', () => {
  const text = JSON.stringify(openapi);
  for (const [kind, parts] of Object.entries(openapi.components))
    for (const name of Object.keys(parts))
      if (kind !== 'securitySchemes') assert.ok(text.includes(`"#/components/${kind}/${name}"`), `${kind}/${name} is used by nobody`);
});
