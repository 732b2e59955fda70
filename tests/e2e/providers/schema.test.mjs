// docs/provider-command.schema.json and the code agree on each answer of tests/data/provider_command/answers.json: here it is held to
// the schema, in tests/unit/server/test_command_answer.c to the code. R with a number stands for so many letters.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { root } from '../lib/programs.mjs';
import { schema } from '../lib/provider_schema.mjs';

const cases = JSON.parse(readFileSync(join(root, 'tests/data/provider_command/answers.json'), 'utf8'));
const long = (name, value) => (/^R\d+$/.test(value) ? 'x'.repeat(Number(value.slice(1))) : value);

test('an answer that the code reads fits the schema, and no other', () => {
  assert.ok(cases.some((one) => one.fits) && cases.some((one) => !one.fits));
  for (const { action, answer, fits } of cases) {
    const whole = JSON.parse(JSON.stringify(answer), long);
    assert.equal(schema.fits(`${action}Answer`, whole), fits, JSON.stringify({ action, answer }));
  }
});
