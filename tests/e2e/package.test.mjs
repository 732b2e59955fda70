// The Debian packages: they build, lintian finds nothing, and what is in them runs. Nothing is installed on this machine.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, readdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { root } from './lib/programs.mjs';

const skip = ['dpkg-buildpackage', 'dh', 'lintian'].every((name) => spawnSync('which', [name]).status === 0) ? false : 'debhelper or lintian is not installed';
const dir = mkdtempSync(join(tmpdir(), 'holdfast-deb.'));
const packages = join(dir, 'packages');
const unpacked = join(dir, 'unpacked');
after(() => rmSync(dir, { recursive: true, force: true }));

function run(program, ...args) {
  const { status, stdout, stderr, error } = spawnSync(program, args, { cwd: root, encoding: 'utf8', timeout: 900000, maxBuffer: 1 << 26, env: { ...process.env, DOCS: 'no', MAKEFLAGS: '', WERROR: '' } });
  assert.equal(status, 0, `${program} ${args.join(' ')}: ${error ?? ''}${stdout}${stderr}`);
  return stdout;
}

before(() => {
  if (!skip) run('scripts/deb', packages);
});

const all = () => readdirSync(packages).map((name) => join(packages, name));

test('there are five packages of this version', { skip }, () => {
  const version = /HOLDFAST_VERSION "(.*)"/.exec(readFileSync(join(root, 'base/version.h'), 'utf8'))[1];
  assert.deepEqual(readdirSync(packages).map((name) => name.split('_')[0]).sort(), ['agent', 'client', 'launcher', 'server', 'slurm'].map((name) => `holdfast-${name}`));
  for (const file of all()) assert.ok(run('dpkg-deb', '--field', file, 'Version').startsWith(`${version}+`), file);
});

test('lintian finds nothing', { skip }, () => {
  assert.equal(run('lintian', '--allow-root', '--fail-on', 'error,warning', ...all()), '');
});

test('the programs run from where they are unpacked, and no file is in two packages', { skip }, () => {
  const owners = new Map();
  for (const file of all()) {
    run('dpkg-deb', '--extract', file, unpacked);
    for (const line of run('dpkg-deb', '--contents', file).trim().split('\n')) {
      const path = line.split(/\s+/)[5];
      if (path.endsWith('/')) continue;
      assert.ok(!owners.has(path), `${path}: ${owners.get(path)} and ${file}`);
      owners.set(path, file);
    }
  }
  for (const program of ['hpd', 'hpctl', 'hp-agent', 'hprun', 'hyperpodrun']) assert.match(run(join(unpacked, 'usr/bin', program), '--version'), /\d+\.\d+\.\d+/);
  for (const file of ['usr/share/man/man8/hpd.8.gz', 'usr/share/man/man1/hyperpodrun.1.gz', 'usr/libexec/hp-auto-resume', 'usr/share/doc/holdfast/prometheus/holdfast.rules.yml'])
    assert.ok(existsSync(join(unpacked, file)), file);
  assert.ok(statSync(join(unpacked, 'opt/sagemaker_cluster')).isDirectory());
});

test('services run what is installed, and files of configuration are kept at an upgrade', { skip }, () => {
  for (const [name, unit, program, conf] of [['server', 'hpd', 'hpd', 'hpd.env'], ['agent', 'hp-agent', 'hp-agent', 'agent.env']]) {
    const file = all().find((path) => path.includes(`holdfast-${name}_`));
    const control = join(dir, `control-${name}`);
    run('dpkg-deb', '--control', file, control);
    assert.equal(readFileSync(join(control, 'conffiles'), 'utf8').trim(), `/etc/holdfast/${conf}`);
    assert.match(readFileSync(join(control, 'postinst'), 'utf8'), new RegExp(`try-restart ${unit}\\.service`));
    const service = ['lib', 'usr/lib'].map((lib) => join(unpacked, lib, 'systemd/system', `${unit}.service`)).find(existsSync);
    assert.match(readFileSync(service, 'utf8'), new RegExp(`^ExecStart=/usr/bin/${program} `, 'm'));
  }
});
