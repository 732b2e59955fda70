// tests/run-e2e --again, and tests/run-unit with UNIT_AGAIN=1: a file that failed is run once more, and what passes only then is named with its first failure. Here on
// files of their own; one of them fails the first time.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { root } from './lib/programs.mjs';

const scratch = mkdtempSync(join(tmpdir(), 'holdfast-again.'));
after(() => rmSync(scratch, { recursive: true, force: true }));

// A file whose test "the odd one" fails once, or always.
const odd = (seen) => `import { existsSync, writeFileSync } from 'node:fs'; import { test } from 'node:test';
  test('the even one', () => {});
  test('the odd one', () => { const again = existsSync('${seen}'); writeFileSync('${seen}', ''); if (!again) throw new Error('odd: 1 of 2\\nand more'); });`;
const broken = "import { test } from 'node:test'; test('the broken one', async (t) => { await t.test('its part', () => { throw new Error('broken'); }); });";
const sound = "import { test } from 'node:test'; test('the sound one', () => {});";

// Runs these files and then those again that failed, as tests/check does.
const run = (name, files) => {
  const tree = join(scratch, name);
  mkdirSync(join(tree, 'e2e/node_modules'), { recursive: true });
  copyFileSync(join(root, 'tests/run-e2e'), join(tree, 'run-e2e'));
  writeFileSync(join(tree, 'e2e/package-lock.json'), '{}');
  utimesSync(join(tree, 'e2e/package-lock.json'), 1, 1);
  writeFileSync(join(tree, 'e2e/node_modules/.package-lock.json'), '{}');
  for (const [file, text] of Object.entries(files)) writeFileSync(join(tree, 'e2e', `${file}.test.mjs`), text);
  const program = '/bin/true';
  // Not the variables by which this runner of tests knows its own children.
  const env = { PATH: process.env.PATH, HPD: program, HPCTL: program, HP_AGENT: program, HPRUN: program, E2E_OUT: 'out' };
  const one = (...words) => {
    const { status, stdout, stderr } = spawnSync('./run-e2e', words, { cwd: tree, env, encoding: 'utf8' });
    assert.equal(stderr, '');
    const lines = stdout.trim().split('\n');
    return { status, sum: lines.at(-1), named: lines.filter((line) => /^passed only|^\d+ files failed/.test(line)) };
  };
  return { first: one(), again: one('--again', 'out') };
};

test('a test that passes when it is run again counts as passed, and is named', () => {
  const { first, again } = run('once', { odd: odd(join(scratch, 'once.seen')), sound });
  assert.deepEqual(first, { status: 1, sum: 'e2e: 2 passed, 1 failed, 0 skipped', named: [] });
  assert.deepEqual(again, { status: 0, sum: 'e2e: 3 passed, 0 failed, 0 skipped',
    named: ['passed only when run again, alone: odd.test.mjs: the odd one; first: odd: 1 of 2'] });
});

test('a test that fails again stays failed, and is not named', () => {
  const { first, again } = run('always', { odd: odd(join(scratch, 'always.seen')) + broken.replace(/^import[^;]*;/, ''), sound });
  assert.deepEqual([first.status, first.sum], [1, 'e2e: 2 passed, 3 failed, 0 skipped']);
  assert.deepEqual(again, { status: 1, sum: 'e2e: 3 passed, 2 failed, 0 skipped',
    named: ['passed only when run again, alone: odd.test.mjs: the odd one; first: odd: 1 of 2'] });
});

test('a file that cannot even be read fails, and so does it again', () => {
  const { again } = run('unread', { unread: 'throw new Error("here");', sound });
  assert.deepEqual(again, { status: 1, sum: 'e2e: 1 passed, 1 failed, 0 skipped', named: [] });
});

test('of more than three files that failed, none is run again', () => {
  const files = Object.fromEntries([1, 2, 3, 4].map((n) => [`odd${n}`, odd(join(scratch, `four.${n}`))]));
  const { again } = run('four', files);
  assert.deepEqual(again, { status: 1, sum: 'e2e: 4 passed, 4 failed, 0 skipped', named: ['4 files failed: more than 3, so none is run again'] });
});

// Two programs that fail once; in the second one a sanitizer found something.
const program = (name, line) => {
  const path = join(scratch, name);
  writeFileSync(path, `#!/bin/bash\n[ -e ${path}.seen ] && echo '[       OK ] t' && exit 0\ntouch ${path}.seen\necho '${line}'\necho '[  FAILED  ] t'\nexit 1\n`, { mode: 0o755 });
  return path;
};
const units = (again, ...programs) => spawnSync('tests/run-unit', programs, { cwd: root, env: { PATH: process.env.PATH, UNIT_AGAIN: again }, encoding: 'utf8' }).stdout.trim().split('\n');

test('a program of unit tests is run again, but not where a sanitizer found something', () => {
  const late = program('late', 'too late');
  const lines = units('1', late, program('spoiled', '==1==ERROR: AddressSanitizer: heap-use-after-free'));
  assert.deepEqual(lines.slice(-2), [`passed only when run again, alone: ${late}`, 'unit: 1 passed, 1 failed, 0 skipped']);
  assert.equal(units('0', program('late0', 'too late')).at(-1), 'unit: 0 passed, 1 failed, 0 skipped');
});
