// docs/provider-command.schema.json, and whether a request or an answer fits it.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import Ajv from 'ajv/dist/2020.js';
import { root } from './programs.mjs';

const document = JSON.parse(readFileSync(join(root, 'docs/provider-command.schema.json'), 'utf8'));
const ajv = new Ajv({ strict: false, allErrors: true }).addSchema(document, 'provider');

export const schema = {
  document,
  fits: (part, value) => ajv.validate(`provider#/$defs/${part}`, value),
  check(part, value) {
    assert.ok(schema.fits(part, value), `${JSON.stringify(value)}: ${ajv.errorsText()}`);
  },
};
