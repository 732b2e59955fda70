// What the documents tell people to type. Each command of a code block is run, in the order of its document, against a real hpd with
// pretend machines, or stands in NOT_RUN with the reason. Those of our programs that are not run are read by the program all the same, and so are the
// command lines inside sentences: the verb and its options exist, and there are not too many arguments. What only reads is run.
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { chmodSync, copyFileSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { after, before, test } from 'node:test';
import { blocksOf, commands, inline, markdown, pages, read, typeIn } from './lib/documents.mjs';
import { PYTHON } from './lib/hprun.mjs';
import { Local } from './lib/local.mjs';
import { hpctlPath, hpdPath, root } from './lib/programs.mjs';
import { World, until } from './lib/world.mjs';

// [document, what the command begins with, why this test does not run it]. "FILE.mjs: …": that test runs it.
const NOT_RUN = [
  ['README.md', '', 'start.test.mjs pastes the quick start, install.test.mjs and package.test.mjs install'],
  ['docs/coming-from-hyperpod.md', 'export', 'sets a variable for a client of HyperPod: slurm/sdk.test.mjs'],
  ['docs/clusters.md', 'export', 'sets variables for a client of HyperPod: slurm/sdk.test.mjs'],
  ['docs/clusters.md', 'node -e', 'a client of HyperPod: slurm/sdk.test.mjs'],
  ['docs/install-kubernetes.md', '', 'needs a Kubernetes: kubernetes/documents.test.mjs types them there'],
  ['docs/install-slurm.md', 'make', 'install.test.mjs and package.test.mjs install'],
  ['docs/install-slurm.md', 'sudo', 'install.test.mjs and package.test.mjs install'],
  ['docs/monitoring.md', 'promtool', 'monitoring.test.mjs checks the rules with promtool'],
  ['docs/policy-corpus.md', '', 'a program of the unit tests'],
  ['docs/real-machines.md', 'hp-agent …', 'an option to add to a command line: reboot.test.mjs'],
  ['docs/real-machines.md', 'openssl', 'needs a BMC: reboot.test.mjs'],
  ['docs/training-jobs.md', 'kubectl', 'needs a Kubernetes: kubernetes/training.test.mjs'],
  ['docs/training-jobs.md', 'hyp ', 'needs HyperPod\'s command line: kubernetes/hyp.test.mjs'],
  ['docs/man/hp-agent.8', 'hp-agent', 'needs a machine of that server'],
];

const AGENT = '--checks none --config-dir ""';
// [document, text, instead]: the places, ports and sizes of this test.
const INSTEAD = [
  ['docs/install-bare-metal.md', 'hpctl token create --machines --ttl 24h', 'hpctl token create --machines --ttl 24h -o json | jq -r .secret >token'],
  ['docs/install-bare-metal.md', 'hp-agent --server https://head:8700 --fingerprint sha256:... --state-dir /var/lib/hp-agent --machine rack1-1 --token-file token',
    `for m in rack1-{1,2,3}; do echo >$m.log; hp-agent --server $HPCTL_URL --state-dir $PWD/$m --machine $m --token-file token ${AGENT} --kmsg $m.log 2>$m.err & done`],
  ['docs/install-bare-metal.md', 'hpctl machine list', "hpctl machine list; until [ \"$(hpctl machine list -o json | jq '[.[] | select(.ready)] | length')\" = 3 ]; do sleep 0.2; done"],
  ['docs/install-bare-metal.md', 'hpctl machine return rack1-1', "spare=$(hpctl machine list -o json | jq -r '.[] | select(.state == \"spare\") | .name'); hpctl machine bench $spare; hpctl machine return $spare"],
  ['docs/install-slurm.md', 'hpctl scheduler describe ', 'until hpctl scheduler describe | grep -q gpu-; do sleep 0.2; done; '],
  ['docs/install-slurm.md', 'hpctl apply -f prod.yaml', 'hpctl apply -f prod.yaml --yes'],
  ['docs/install-slurm.md', 'hpctl token create --enrollment --node gpu-1', 'hpctl token create --enrollment --node gpu-1 -o json | jq -r .secret >token'],
  ['docs/install-slurm.md', 'hp-agent --server URL --token-file FILE --state-dir /var/lib/hp-agent --node gpu-1 --instance-id i-…',
    `echo >log; hp-agent --server $HPCTL_URL --token-file token --state-dir $PWD/agent --node gpu-1 --instance-id i-0f3a1c9d7e5b24680 ${AGENT} --kmsg log & until hpctl node describe gpu-1 -o json | jq -e '.live.silent == false'; do sleep 0.2; done`],
  ['docs/clusters.md', '$EDITOR first.yaml', 'sed -i "s/instanceCount: 8/instanceCount: 9/" first.yaml'],
  ['docs/clusters.md', 'hpctl apply -f first.yaml', 'hpctl apply -f first.yaml --yes --wait'],
  ['docs/coming-from-hyperpod.md', '--name sdk', '--name sdk-2'],
  ['docs/operations.md', '/backup/', './'],
  ['docs/operations.md', '/var/lib/holdfast', '$STATE'],
  ['docs/policies.md', 'rollback 3', 'rollback 1'],
  ['docs/training-jobs.md', '--nproc-per-node 8', '--nproc-per-node 2'],
];

// What a document takes for granted in the directory where its commands are typed: [file, its text or a file of ours].
const FILES = {
  'docs/policies.md': [['policy.yaml', { from: 'docs/examples/policy.yaml' }]],
  'docs/simulation.md': [['policy.yaml', { from: 'docs/examples/policy.yaml' }]],
  'docs/training-jobs.md': [['train.py', 'print("trained")\n'], ['slurm-4711.out', 'step 1 loss 2.0\n']],
  'docs/man/hprun.1': [['train.py', 'print("trained")\n'], ['slurm-4711.out', 'step 1 loss 2.0\n'], ['rules.yaml', { from: 'docs/examples/log-rules.yaml' }]],
};

// Words in capitals stand for something of this world.
const NAMES = { NODE: 'gpu-7', GROUP: 'gpu', CLUSTER: 'first', VERSION: '1' };

const LAST = ['docs/clusters.md']; // its rollout goes on for minutes
const documents = [...markdown, ...pages].sort((a, b) => LAST.includes(a) - LAST.includes(b));
const shell = (file) => blocksOf(file).filter(({ lang }) => lang === 'sh').flatMap(commands);
const OURS = /^(hpctl|hpd|hp-agent|hprun)\b/;
const reason = (file, text) => NOT_RUN.find(([document, begin]) => document === file && text.startsWith(begin));
const dir = mkdtempSync(join(tmpdir(), 'holdfast-documents.'));
const place = (file) => join(dir, file.replaceAll('/', '_'));
const PROGRAMS = dirname(hpdPath);
let world, env;

before(async () => {
  world = new Local({ state: join(dir, 'state') });
  await world.start();
  mkdirSync(join(dir, 'bin'));
  writeFileSync(join(dir, 'hpd.pid'), `${world.hpd.pid}`);
  // systemctl stop hpd and systemctl start hpd, of this hpd.
  writeFileSync(join(dir, 'bin/systemctl'), `#!/bin/bash
set -e; cd ${dir}
case "$1 $2" in
"stop hpd") pid=$(<hpd.pid); kill $pid; while kill -0 $pid 2>/dev/null; do sleep 0.1; done;;
"start hpd") ${hpdPath} --state-dir state --listen 127.0.0.1:${world.port} --config ${world.config} </dev/null >/dev/null 2>hpd.log & echo $! >hpd.pid
    until grep -q "listening on" hpd.log; do kill -0 $! && sleep 0.1; done;;
*) exit 1;;
esac
`);
  chmodSync(join(dir, 'bin/systemctl'), 0o755);
  env = { ...process.env, HOME: dir, STATE: join(dir, 'state'), PATH: `${join(dir, 'bin')}:${PROGRAMS}:${process.env.PATH}`, HPCTL_URL: `http://127.0.0.1:${world.port}`, HPCTL_TOKEN: world.token, PYTHON_EXEC: PYTHON };
  await world.create(8, { name: 'first', instanceGroups: [{ name: 'gpu', instanceCount: 8, provider: 'local' }] });
  await until('all nodes are ready', async () => (await world.list('/v1/clusters/first/nodes')).every((n) => n.state === 'ready' && n.health === 'healthy'), 240000);
});

after(async () => {
  if (!world) return;
  try {
    process.kill(Number(readFileSync(join(dir, 'hpd.pid'), 'utf8')), 'SIGTERM');
  } catch {
    // it has ended
  }
  await world.end();
  rmSync(dir, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
});

// Documents that need another site than this one: what hpd is there.
const SITES = {
  'docs/install-bare-metal.md': async () => {
    const site = await new Local({ config: { providers: { rack: { kind: 'inventory' } } } }).start();
    return { env: { HPCTL_URL: `http://127.0.0.1:${site.port}`, HPCTL_TOKEN: site.token }, end: () => site.end() };
  },
  'docs/install-slurm.md': async () => {
    const site = await new World({ lab: [], cluster: false, nodes: 2 }).start();
    return { env: site.env, end: () => site.end() };
  },
};

test('every code block of a document says what it is', () => {
  const bad = markdown.flatMap((file) => blocksOf(file).filter(({ lang }) => !['sh', 'yaml'].includes(lang)).map(({ line }) => `${file}:${line}`));
  assert.deepEqual(bad, [], 'begin each with ```sh or ```yaml');
  assert.ok(documents.flatMap(shell).length > 60);
});

test('each row of NOT_RUN and INSTEAD fits a command of the documents', () => {
  for (const [file, begin, why] of NOT_RUN) {
    assert.ok(shell(file).some(({ text }) => text.startsWith(begin) && reason(file, text)[1] === begin), `${file}: no command begins with "${begin}"`);
    for (const [other] of why.matchAll(/\S+\.mjs/g)) assert.ok(existsSync(join(root, 'tests/e2e', other)), other);
  }
  for (const [file, text] of INSTEAD) assert.ok(shell(file).some((one) => !reason(file, one.text) && one.text.includes(text)), `${file}: no command has "${text}"`);
});

// Where a document is typed: its files, and the tree's folders that it names.
function room(file) {
  mkdirSync(place(file));
  for (const name of ['docs', 'dist', 'packaging']) symlinkSync(join(root, name), join(place(file), name));
  for (const [name, what] of FILES[file] ?? []) {
    if (what.from) copyFileSync(join(root, what.from), join(place(file), name));
    else writeFileSync(join(place(file), name), what);
  }
  for (const { lang, lines } of blocksOf(file)) {
    const [, name] = /^# (\S+\.yaml)$/.exec(lang === 'yaml' ? lines[0] : '') ?? []; // the name of the file that it is
    if (name) writeFileSync(join(place(file), basename(name)), lines.join('\n'));
  }
  return place(file);
}

const instead = (file, text) => INSTEAD.filter(([document]) => document === file).reduce((all, [, from, to]) => all.replaceAll(from, to), text);

// The document's commands in one shell.
const type = (file, lines, more) => typeIn(lines.map(({ line, text }) => ({ line, text: instead(file, text) })), room(file), { ...env, ...more });

for (const file of documents.filter((one) => shell(one).some(({ text }) => !reason(one, text)))) {
  test(`the commands of ${file} work as they are typed`, { timeout: 300000 }, async () => {
    const site = await SITES[file]?.();
    try {
      const { code, line, said } = await type(file, shell(file).filter(({ text }) => !reason(file, text)), site?.env);
      assert.equal(code, 0, `${file}:${line}:\n${said.slice(-3000)}`);
    } finally {
      await site?.end();
    }
  });
}

// The words of one command, as a shell takes them; what is piped, redirected or left out ("…") is not of it.
function words(text) {
  const line = text.replace(/\s#\s.*/, '').replace(/\\\n/g, ' ').split(/ [|>] ?| && |;|\s&$/)[0].replace(/ ?(\.\.\.|…)(?=\s|$)/g, '');
  const { stdout, status } = spawnSync('bash', ['-c', `printf '%s\\0' ${line.replaceAll('>', '\\>')}`], { encoding: 'utf8' });
  assert.equal(status, 0, text);
  return stdout.split('\0').slice(0, -1).map((word) => word.replace('/var/lib/', `${dir}/`).replace('sha256:', 'sha256:A'));
}

// What the program says to it where no server is.
function parse([program, ...args]) {
  const { status, stdout, stderr } = spawnSync(join(PROGRAMS, program), args, { encoding: 'utf8', cwd: dir, timeout: 60000, input: '', env: { ...env, HPCTL_URL: 'http://127.0.0.1:1', HPCTL_TOKEN: 'x' } });
  return { status, said: `${stderr}${stdout}` };
}
const REFUSED = /unknown option|does not take|has no verb|no noun|no check is called/;
const INCOMPLETE = /\bneeds? |what\?|are needed/;

test('what is not run is taken by the program that it names', () => {
  const lines = documents.flatMap((file) => shell(file).filter(({ text }) => reason(file, text) && OURS.test(text)).map((one) => ({ file, ...one })));
  assert.ok(lines.length > 8);
  const bad = lines.map((one) => ({ ...one, ...parse(words(one.text)) })).filter(({ text, said }) => REFUSED.test(said) || (INCOMPLETE.test(said) && !text.includes('…')));
  assert.deepEqual(bad.map(({ file, line, text, said }) => `${file}:${line}: ${text}: ${said}`), []);
});

// What changes nothing and ends by itself.
const READS = /^hpctl (simulate|doctor|version|\S+ (list|describe|explain|show|history|approvals|export|hardware|verdicts|known-hosts|ssh-config|failed|baseline|evidence))\b(?!.*--(follow|watch|run|write))/;
const PLACEHOLDER = /^[A-Z]{2,}(\/[A-Z]+)?$/;

test('a command line in a sentence has a verb and options that exist, and what only reads answers', () => {
  const lines = documents.flatMap(inline).filter(({ text }) => OURS.test(text) && !text.includes('()'));
  assert.ok(lines.length > 100);
  const answers = new Map();
  const ask = (text) => {
    const all = words(text).map((word) => NAMES[word] ?? word);
    const { status, said } = parse(all);
    if (REFUSED.test(said)) return said;
    if (!READS.test(text) || INCOMPLETE.test(said)) return '';
    const ran = spawnSync(hpctlPath, all.slice(1), { encoding: 'utf8', cwd: dir, env, timeout: 120000 });
    const unknown = all.some((word) => PLACEHOLDER.test(word)) && ran.status === 5;
    return ran.status === 0 || unknown ? '' : `exit ${ran.status} (${status} without a server): ${ran.stderr}`;
  };
  for (const { text } of lines) if (!answers.has(text)) answers.set(text, ask(text));
  assert.deepEqual(lines.filter(({ text }) => answers.get(text)).map(({ file, line, text }) => `${file}:${line}: ${text}: ${answers.get(text)}`), []);
});

test('a command that a program, the console, an alert or the API\'s document names exists', () => {
  const verbs = new Map();
  for (const [, noun, verb] of spawnSync(hpctlPath, ['--help'], { encoding: 'utf8' }).stdout.matchAll(/^ {2}([a-z][a-z-]*)(?: ([a-z][a-z-]*))?(?= )/gm)) verbs.set(noun, [...(verbs.get(noun) ?? []), verb]);
  const known = new Set([...verbs.values()].flat());
  const wrong = (noun, verb) => (verbs.has(noun) ? !verbs.get(noun).includes(undefined) && !verbs.get(noun).includes(verb) : known.has(verb));
  const files = execFileSync('git', ['ls-files', 'agents', 'api', 'base', 'cli', 'db', 'demo', 'dist', 'model', 'packaging', 'policy', 'server', 'web', 'docs', 'openapi.yaml', 'README.md'], { cwd: root, encoding: 'utf8' })
    .trim().split('\n').filter((name) => /\.(c|h|def|m?js|yaml|yml|md|json|\d)$/.test(name) && !name.endsWith('CHANGELOG.md'));
  let count = 0;
  const bad = files.flatMap((file) => [...read(file).matchAll(/\bhpctl ([a-z][a-z-]*) ([a-z][a-z-]*)/g)].filter(([, noun, verb]) => (count += verbs.has(noun)) && wrong(noun, verb)).map(([all]) => `${file}: ${all}`));
  assert.ok(count > 200);
  assert.deepEqual(bad, []);
});
