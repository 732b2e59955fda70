// Eight nodes as a site has them: slurmd on each, slurmctld, slurmdbd on MariaDB, slurmrestd, and hpd that reaches Slurm by slurmrestd
// and by sshd. A group that shrinks and grows under load, a rack that goes dark, and Slurm's own daemons that end in mid-repair: what
// became of the jobs is asked of Slurm's accounting, which nothing of ours writes.
import assert from 'node:assert/strict';
import { existsSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { FELL_OFF, World, until } from '../lib/world.mjs';

const WAIT_MS = 240000;
const RACK = ['gpu-5', 'gpu-6', 'gpu-7', 'gpu-8'];
let world;

before(async () => {
  world = new World({
    nodes: 8, way: 'rest+ssh', lab: ['--no-slurmd', '--accounting'],
    recovery: { breakerMin: 3, incidentSettle: '2s' },
  });
  await world.start();
  for (const what of [['account', 'train'], ['user', world.slurmRun('id', '-un'), 'account=train']]) world.slurmRun('sacctmgr', '-i', 'add', ...what);
});
after(() => world?.end());

const operations = (name) => world.operations(name).filter((o) => ['reboot', 'replace'].includes(o.kind));
const sbatch = (script, ...options) => world.slurmRun('sbatch', '--parsable', '-A', 'train', '-o', '/dev/null', ...options, '--wrap', script);
const running = (job) => world.slurmRun('squeue', '-h', '-r', '-j', job, '-t', 'R', '-o', '%N').split('\n').filter(Boolean);
// What the accounting has of a job: a row for each time that it ran.
const account = (job, ...fields) => world.slurmRun('sacct', '-D', '-X', '-n', '-P', '-j', job, '-o', fields.join(',')).split('\n').filter(Boolean).map((line) => line.split('|'));
const waitsFor = (gate) => `until [ -e ${world.dir}/${gate} ]; do sleep 0.2; done`;
const touch = (name) => writeFileSync(join(world.dir, name), '');
const resize = (instanceCount) => {
  const spec = join(world.dir, 'apply.yaml');
  writeFileSync(spec, JSON.stringify({ name: 'demo', nodeRecovery: 'Automatic', instanceGroups: [{ name: 'workers', instanceCount, nodeNames: `gpu-[1-${instanceCount}]` }] }));
  const run = world.hpctl('apply', '-f', spec, '--yes');
  assert.equal(run.code, 0, run.err);
};
// slurmd and the agent of a node: what of it can be heard.
const heard = (name) => readdirSync('/proc').filter((pid) => /^\d+$/.test(pid)).filter((pid) => {
  try {
    const line = readFileSync(`/proc/${pid}/cmdline`, 'utf8');
    return line.includes(world.dir) && (line.includes(`\0-N\0${name}\0`) || line.includes(`\0--node\0${name}\0`));
  } catch {
    return false; // it has ended
  }
}).map(Number);

test('a group shrinks and grows under load, and no job notices', async () => {
  const job = sbatch(`[ $SLURM_ARRAY_TASK_ID -le 8 ] && gate=first || gate=second; ${waitsFor('$gate')}`, '--array=1-16', '--exclusive', '-N1');
  await until('eight run', () => running(job).length === 8, WAIT_MS);
  resize(6);
  await until('two take no more', () => ['gpu-7', 'gpu-8'].every((name) => /DRAIN/.test(world.slurmNode(name).state)), WAIT_MS);
  assert.equal(running(job).length, 8, 'what runs there is waited for');
  touch('first');
  await until('six nodes', () => world.json('node', 'list').length === 6, WAIT_MS);
  await until('six run', () => running(job).length === 6, WAIT_MS);
  resize(8);
  await until('eight run again', () => running(job).length === 8, WAIT_MS);
  touch('second');
  await until('all is done', () => world.slurmRun('squeue', '-h', '-j', job) === '', WAIT_MS);
  const rows = await until('the accounting has it', () => {
    const now = account(job, 'State', 'Account');
    return now.length === 16 && now.every(([state]) => state === 'COMPLETED') && now;
  }, WAIT_MS);
  assert.deepEqual([...new Set(rows.map((row) => row.join()))], ['COMPLETED,train'], 'each ran once');
});

test('a rack that goes dark is one incident: held, and what stays dark afterwards is repaired', async () => {
  await until('eight nodes', () => world.json('node', 'list').filter((n) => n.state === 'ready' && n.health === 'healthy').length === 8, WAIT_MS);
  for (const name of RACK) assert.equal(world.hpctl('node', 'place', name, 'rack=r1').code, 0);
  const filler = sbatch('sleep 600', '-N4', '-w', 'gpu-[1-4]', '--exclusive');
  const job = sbatch(waitsFor('third'), '-N1', '--requeue', '--exclusive');
  await until('a job on the rack', () => running(job)[0] === 'gpu-5', WAIT_MS);
  world.slurmRun('scancel', filler);
  const before = RACK.map((name) => operations(name).length);
  const pids = new Map(RACK.map((name) => [name, heard(name)]));
  const send = (names, signal) => names.forEach((name) => pids.get(name).forEach((pid) => process.kill(pid, signal)));
  for (const [name, those] of pids) assert.equal(those.length, 2, `${name}: ${those}`);
  send(RACK, 'SIGSTOP');
  try {
    const [incident] = await until('an incident', () => {
      const all = world.json('incident', 'list');
      return all.length > 0 && all;
    }, WAIT_MS);
    assert.deepEqual([incident.level, incident.domain, incident.cause], ['rack', 'r1', 'unreachable'], JSON.stringify(incident));
    await until('each is held for it', () => RACK.every((name) => world.node(name).state === 'held' && /shared-incident|incident/.test(JSON.stringify(world.json('node', 'explain', name).decision))), WAIT_MS);
    assert.equal(world.json('incident', 'list').length, 1);
    assert.match(world.hpctl('cluster', 'describe').out, /· rack r1 down[^]*\nIncidents\n[^]*\n\d+ +rack +r1 +unreachable /);
    await until('the job runs elsewhere', () => /^gpu-[1-4]$/.test(running(job)[0]), WAIT_MS);
    assert.deepEqual(RACK.map((name) => operations(name).length), before, 'no repair of any');
    assert.equal(world.events({ kind: 'breaker-opened' }).length, 0, 'four nodes, and one thing that failed');
    send(RACK.slice(0, 3), 'SIGCONT'); // there is power again, but not for all
    await until('the incident is over', () => world.events({ kind: 'incident-ended' }).length === 1, WAIT_MS);
    await until('what stays dark is repaired', () => operations('gpu-8').some((o) => o.kind === 'reboot' && o.state === 'succeeded') && world.node('gpu-8').state === 'ready', WAIT_MS);
  } finally {
    for (const pid of [...pids.values()].flat()) if (existsSync(`/proc/${pid}`)) process.kill(pid, 'SIGCONT');
  }
  await until('all idle or at work', () => world.states().every((s) => ['idle', 'alloc'].includes(s)) && world.json('node', 'list').every((n) => n.state === 'ready'), WAIT_MS);
  assert.deepEqual(RACK.map((name) => operations(name).length), before.map((n, i) => n + (i === 3 ? 1 : 0)), 'one repair, of one');
  touch('third');
  await until('the accounting knows why each was away', () => {
    const said = world.slurmRun('sacctmgr', '-n', '-P', 'show', 'event', 'event=node', 'start=2020-01-01', 'format=nodename,reason');
    if (!RACK.every((name) => new RegExp(`^${name}\\|holdfast: unreachable`, 'm').test(said))) throw new Error(said);
    return true;
  }, WAIT_MS);
  await until('the accounting has both runs', () => {
    const rows = account(job, 'State', 'NodeList').map((row) => row.join());
    return rows.length === 2 && /^(NODE_FAIL|REQUEUED),gpu-5$/.test(rows[0]) && /^COMPLETED,gpu-[1-4]$/.test(rows[1]);
  }, WAIT_MS);
});

test("slurmctld, slurmdbd and slurmrestd end in mid-repair: each repair is done once, a person's own among them", async () => {
  const before = ['gpu-1', 'gpu-2'].map((name) => operations(name).length);
  world.kernel('gpu-1', FELL_OFF);
  world.slurmRun('scontrol', 'update', 'NodeName=gpu-2', 'State=DOWN', 'Reason=Action:Reboot');
  // Both are begun: a slurmctld that is killed may forget what it was told in its last seconds.
  await until('two repairs', () => ['gpu-1', 'gpu-2'].every((name, i) => operations(name).length > before[i]), WAIT_MS);
  for (const daemon of ['slurmrestd', 'slurmctld', 'slurmdbd']) world.lab('end', world.slurm, daemon);
  await until('hpd says so', () => world.events({ kind: 'scheduler-down' }).length > 0, WAIT_MS);
  world.lab('begin', world.slurm, 'slurmdbd'); // without which the others do not start
  await until('slurmdbd is back', () => world.run('sacctmgr', '-n', 'show', 'cluster').code === 0, WAIT_MS);
  for (const daemon of ['slurmctld', 'slurmrestd']) world.lab('begin', world.slurm, daemon);
  for (const name of ['gpu-1', 'gpu-2']) await world.repaired(name, 'reboot');
  assert.deepEqual(['gpu-1', 'gpu-2'].map((name) => operations(name).length), before.map((n) => n + 1));
  assert.match(operations('gpu-2')[0].actor, /^slurm:/);
});

test('who used how much is in the metrics', async () => {
  await until('the shares', async () => {
    const text = await (await fetch(`${world.url}/metrics`, { headers: { Authorization: `Bearer ${world.token}` } })).text();
    return /^slurm_exporter_collector_success\{collector="fairshare"\} 1$/m.test(text) && /account="train"/.test(text);
  }, WAIT_MS);
});
