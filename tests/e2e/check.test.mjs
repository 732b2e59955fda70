// `hp-agent check`: what it prints and how it ends, on a machine that is a directory, with a site's own checks.
import { test } from 'node:test';
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { chmodSync, copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { agentPath } from './lib/programs.mjs';

const dir = mkdtempSync(join(tmpdir(), 'holdfast-check-'));
const root = join(dir, 'root'), own = join(dir, 'checks.d'), mc = join(root, 'sys/devices/system/edac/mc/mc0');
const counts = (corrected, uncorrected) => {
  mkdirSync(mc, { recursive: true });
  writeFileSync(join(mc, 'ce_count'), `${corrected}\n`);
  writeFileSync(join(mc, 'ue_count'), `${uncorrected}\n`);
};
const script = (name, text, mode = 0o755) => {
  mkdirSync(own, { recursive: true, mode: 0o755 });
  writeFileSync(join(own, name), `#!/bin/sh\n${text}\n`);
  chmodSync(join(own, name), mode);
};
const check = (...args) => {
  const { status, stdout, stderr } = spawnSync(agentPath, ['check', '--root', root, '--checks-dir', own, ...args], { encoding: 'utf8' });
  return { status, stdout, stderr };
};

mkdirSync(root, { recursive: true });
test.after(() => rmSync(dir, { recursive: true }));

test('nothing to look at is told apart from good, and is no fault', () => {
  const { status, stdout } = check('edac');
  assert.equal(status, 0);
  assert.match(stdout, /^edac +not applicable +\S/);
});

test('a finding ends with 1, in the table and as JSON', () => {
  counts(0, 2);
  const table = check('edac');
  assert.equal(table.status, 1);
  assert.match(table.stdout, /^edac +found +node\.edac\.uncorrected mc0: 2 memory errors/);
  const { status, stdout } = check('--json', 'edac');
  assert.equal(status, 1);
  const [line] = JSON.parse(stdout);
  assert.equal(line.check, 'edac');
  assert.equal(line.result, 'found');
  assert.deepEqual({ ...line.found[0], text: '' }, { code: 'node.edac.uncorrected', device: 'mc0', severity: 'warn', count: 2, kind: 'event', text: '' });
});

test('nothing is checked by settings that are refused, or are not where they were said to be', () => {
  const settings = join(dir, 'settings');
  writeFileSync(settings, 'disk.lowPercent: 90\n');
  const refused = check('--settings', settings, 'edac');
  assert.equal(refused.status, 2);
  assert.equal(refused.stdout, '');
  assert.match(refused.stderr, /line 1: disk\.lowPercent must be .*\n.*nothing was checked/);
  const gone = check('--settings', join(dir, 'gone'), 'edac');
  assert.equal(gone.status, 2);
  assert.match(gone.stderr, /gone: No such file/);
  assert.equal(check('--settings', '/dev/null', 'edac').status, 1); // what it finds, again
});

test('what could not be found out ends with 3, unless something was found as well', () => {
  counts(0, 0);
  script('sensor', 'echo no answer; exit 3');
  const alone = check('edac', 'sensor');
  assert.equal(alone.status, 3);
  assert.match(alone.stdout, /^edac +ok *\nsensor +unknown +no answer\n$/);
  script('rack', '# holdfast: reason=Ask Ann.\necho API open; exit 1');
  const both = check('sensor', 'rack');
  assert.equal(both.status, 1);
  assert.match(both.stdout, /rack +found +custom\.warning rack: API open; Ask Ann\./);
});

test('a program that others could have written is not run', () => {
  script('theirs', `touch ${join(dir, 'ran')}; exit 2`, 0o777);
  const { status, stdout } = check('theirs');
  assert.equal(status, 3);
  assert.match(stdout, /theirs +unknown +not run: .*can be written by others/);
  assert.equal(spawnSync('test', ['-e', join(dir, 'ran')]).status, 1);
});

test('wrong usage ends with 2 and says why', () => {
  const unknown = check('nothing');
  assert.equal(unknown.status, 2);
  assert.match(unknown.stderr, /no check is called "nothing"/);
  assert.equal(check('--no-such-option').status, 2);
});

// Machines that have something to look at: whole trees of /proc and /sys, and a GPU that nvidia-smi lists.
const samples = new URL('../data/', import.meta.url).pathname;
const machine = (name, trees) => {
  const full = join(dir, name), bin = join(dir, `${name}-bin`);
  for (const path of [bin, join(dir, 'none')]) mkdirSync(path, { recursive: true });
  copyFileSync(join(samples, 'nvidia/hopper.xml'), join(bin, 'smi.xml'));
  writeFileSync(join(bin, 'nvidia-smi'), `#!/bin/sh\ncase "$*" in *-q*) cat ${bin}/smi.xml;; esac\n`, { mode: 0o755 });
  for (const line of trees.flatMap((tree) => readFileSync(join(samples, tree), 'utf8').split('\n').filter(Boolean))) {
    const space = line.indexOf(' '), path = join(full, line.slice(0, space));
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, `${line.slice(space + 1)}\n`);
  }
  return (...args) => spawnSync(agentPath, ['check', '--root', full, '--checks-dir', join(dir, 'none'), ...args],
    { encoding: 'utf8', env: { ...process.env, PATH: `${bin}:${process.env.PATH}` } });
};
const names = spawnSync(agentPath, ['check', '--help'], { encoding: 'utf8' }).stdout.match(/^ {2}[a-z]+(?= )/gm).map((name) => name.trim());

test('each check, and all of them, come to their end on machines with hardware', () => {
  const full = machine('full', ['machine/bare-metal.tree', 'net/node.tree', 'infiniband/six.tree']);
  const cloud = machine('cloud', ['machine/bare-metal.tree', 'efa/p4d.tree', 'neuron/inf2.24xlarge.txt']);
  assert.ok(names.length >= 17);
  for (const run of [full, cloud]) {
    for (const name of [...names, null]) {
      const { status, signal, stdout, stderr } = run('--json', ...(name ? [name] : []));
      assert.deepEqual([signal, stderr], [null, ''], `check ${name ?? '(all)'}`);
      assert.ok([0, 1, 3].includes(status), `check ${name ?? '(all)'}: ${status}`);
      assert.deepEqual(JSON.parse(stdout).map((line) => line.check), name ? [name] : names);
    }
  }
  const [gpus] = JSON.parse(full('--json', 'nvidia').stdout);
  assert.notEqual(gpus.result, 'not-applicable'); // the GPU was seen
  assert.equal(JSON.parse(full('--json', 'machine').stdout)[0].result, 'ok');
});
