// The states in which slurmctld itself, or a person through it, keeps a node from work: reservations, plans, holds, reboots, power
// saving, and a machine that has less than its line says. What docs/slurm-states.md says of each is what is done on a real Slurm.
import assert from 'node:assert/strict';
import { chmodSync, existsSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { FELL_OFF, World, until } from '../lib/world.mjs';

const UNREACHABLE_MS = 3000;
const LONG_MS = UNREACHABLE_MS + 18000; // nodes that vanish within 15 s are judged together
const REBOOTED = 'gpu-2';

class States extends World {
  // The site's own programs: what they switch off neither slurmd nor the agent answers for, and what they switch on boots anew.
  writeConfig() {
    const at = (name) => join(this.dir, name);
    const program = (name, body) => {
      writeFileSync(at(name), `#!/bin/sh\nexport SLURM_CONF=${this.env.SLURM_CONF}\n${body}\n`);
      chmodSync(at(name), 0o755);
    };
    const machine = `d=${at('instances')}/$(cat ${at('machine')}.$1)`;
    program('off', `${machine}; kill -STOP $(sed 1d $d/processes | cut -d' ' -f1)`);
    program('on', `${machine}; echo "site-$(date +%s%N)" >$d/reboot; kill -HUP $(cut -d' ' -f1 $d/machine.pid)`);
    const each = (what) => `for n in $(scontrol show hostnames $1); do ${at(what)} $n; done`;
    program('suspend', each('off'));
    program('resume', each('on'));
    // slurmd runs it, and goes down with its machine: who switches that on again is not its child.
    program('reboot', `setsid sh -c 'while [ ! -e ${at('go')} ]; do sleep 0.1; done; ${at('on')} ${REBOOTED}' </dev/null >/dev/null 2>&1 & ${at('off')} ${REBOOTED}`);
    const conf = this.env.SLURM_CONF;
    writeFileSync(conf, `${readFileSync(conf, 'utf8').replace(/^SlurmdParameters=.*$/m, '')}SuspendProgram=${at('suspend')}\nResumeProgram=${at('resume')}\nSuspendTime=86400\nSuspendTimeout=3\nResumeTimeout=60\nRebootProgram=${at('reboot')}\n`);
    this.lab('end', this.slurm, 'slurmctld');
    this.lab('begin', this.slurm, 'slurmctld');
    super.writeConfig();
  }

  machines() {
    for (const { name, instanceId } of this.json('node', 'list')) writeFileSync(join(this.dir, `machine.${name}`), instanceId);
  }
}

let world;
before(async () => {
  process.env.LAB_CPUS = '1'; // which each of them has
  world = new States({
    recovery: { breakerMin: 100 },
    config: { agents: { heartbeatInterval: '500ms', silentAfter: '2s', unreachableAfter: `${UNREACHABLE_MS}ms` } },
  });
  await world.start();
  world.machines();
});
after(() => world?.end());

const scontrol = (...args) => world.slurmRun('scontrol', ...args);
const shows = (name, pattern) => until(`${name} is ${pattern}`, () => pattern.test(world.slurmNode(name).state) && world.slurmNode(name).state);
const repairs = (name) => world.operations(name).filter((o) => o.kind !== 'launch').map((o) => o.kind);
const idle = (name) => until(`${name} is in service`, () => world.node(name).state === 'ready' && world.slurmNode(name).state === 'IDLE');
// Nothing is done to them, now and for so long.
const untouched = async (ms, ...names) => {
  for (const end = Date.now() + ms; ; await sleep(500)) {
    for (const name of names) assert.deepEqual(repairs(name), []);
    if (Date.now() >= end) return;
  }
};
const running = async (...names) => {
  const id = world.slurmRun('sbatch', '--parsable', '-t', '10', `-N${names.length}`, '-w', names.join(), '-o', '/dev/null', '--wrap', 'sleep 600');
  await until('the job runs', () => world.slurmRun('squeue', '-h', '-j', id, '-o', '%T') === 'RUNNING');
  return id;
};

test('what Slurm switched off is left alone, however long it is silent, and comes back by itself', async () => {
  const job = await running('gpu-2');
  scontrol('reboot', 'gpu-2');
  await shows('gpu-2', /REBOOT_REQUESTED/);
  scontrol('update', 'NodeName=gpu-3', 'State=POWER_DOWN_FORCE');
  await shows('gpu-3', /POWERING_DOWN/);
  await shows('gpu-3', /POWERED_DOWN/);
  assert.equal(world.node('gpu-2').state, 'ready', 'its job goes on until it ends');
  world.slurmRun('scancel', job);
  await shows('gpu-2', /REBOOT_ISSUED/);
  for (const name of ['gpu-2', 'gpu-3']) await until(`${name} is silent`, () => world.node(name).live.silent);
  await untouched(LONG_MS, 'gpu-2', 'gpu-3');
  for (const name of ['gpu-2', 'gpu-3']) {
    const { decision, text } = world.json('node', 'explain', name);
    assert.deepEqual([decision.action, decision.refused], ['watch', 'reboot']);
    assert.match(text, /the scheduler switched it off, to save power or for a reboot, and switches it on again itself/);
  }
  const wakes = world.slurmRun('sbatch', '--parsable', '-w', 'gpu-3', '-o', '/dev/null', '--wrap', 'sleep 600');
  await shows('gpu-3', /POWERING_UP/);
  writeFileSync(join(world.dir, 'go'), '');
  await until('the job runs', () => world.slurmRun('squeue', '-h', '-j', wakes, '-o', '%T') === 'RUNNING');
  world.slurmRun('scancel', wakes);
  for (const name of ['gpu-2', 'gpu-3']) await idle(name);
  await untouched(0, 'gpu-2', 'gpu-3');
});

test('reservations and plans keep work away, not repairs; in a maintenance nothing is repaired until it is over', async () => {
  const reserve = (name, node, ...more) => scontrol('create', 'reservation', `ReservationName=${name}`, 'Users=root', 'StartTime=now', 'Duration=60', `Nodes=${node}`, ...more);
  reserve('theirs', 'gpu-1');
  reserve('works', 'gpu-4', 'Flags=MAINT');
  const job = await running('gpu-2');
  const next = world.slurmRun('sbatch', '--parsable', '-t', '10', '-N2', '-w', 'gpu-[2-3]', '-o', '/dev/null', '--wrap', 'sleep 600');
  const expected = [['gpu-1', /^IDLE\+RESERVED/], ['gpu-3', /^IDLE\+PLANNED/], ['gpu-4', /^(IDLE\+)?MAINT/]];
  for (const [name, state] of expected) await shows(name, state);
  await world.looks(2);
  await untouched(0, 'gpu-1', 'gpu-4');
  for (const [name] of expected) assert.deepEqual([world.node(name).state, world.node(name).health], ['ready', 'healthy'], name);
  for (const [name] of expected) world.kernel(name, FELL_OFF);
  const repaired = (name) => until(`${name} is repaired`, () => world.operations(name).some((o) => o.kind === 'reboot' && o.state === 'succeeded') && world.node(name).state === 'ready');
  for (const [name, state] of expected.slice(0, 2)) {
    await repaired(name);
    await shows(name, state);
  }
  await until('gpu-4 waits, and says for what', () => /maintenance, in which people may work on it/.test(world.json('node', 'explain', 'gpu-4').text));
  await untouched(0, 'gpu-4');
  for (const name of ['theirs', 'works']) assert.match(scontrol('show', 'reservation', name), /State=ACTIVE/);
  scontrol('delete', 'ReservationName=works');
  await repaired('gpu-4');
  world.slurmRun('scancel', job, next);
  scontrol('delete', 'ReservationName=theirs');
  for (const [name] of expected) await idle(name);
});

test("FAIL in a person's own words is that person's, and its job runs to its end", async () => {
  const done = repairs('gpu-2').length, job = await running('gpu-2');
  scontrol('update', 'NodeName=gpu-2', 'State=FAIL', 'Reason=fan 3 rattles');
  await shows('gpu-2', /^ALLOCATED\+FAIL/);
  await until('hpd has seen it', () => /fan 3 rattles/.test(world.node('gpu-2').reason));
  world.kernel('gpu-2', FELL_OFF);
  const why = await until('a decision that respects it', () => {
    const e = world.json('node', 'explain', 'gpu-2');
    return e.decision?.code === 'xid.79' && !['reboot', 'replace'].includes(e.decision.action) && e;
  });
  assert.match(why.text, /fan 3 rattles/);
  await world.looks(4);
  assert.equal(world.slurmRun('squeue', '-h', '-j', job, '-o', '%T'), 'RUNNING');
  world.slurmRun('scancel', job);
  await shows('gpu-2', /^IDLE\+FAIL$/);
  assert.equal(world.slurmNode('gpu-2').reason, 'fan 3 rattles');
  assert.equal(repairs('gpu-2').length, done);
  scontrol('update', 'NodeName=gpu-2', 'State=RESUME');
  await world.repaired('gpu-2', 'reboot');
});

test('a node that a person resumes in the middle of its repair takes no job: it is taken out again, with a warning', async () => {
  const reboots = () => world.operations('gpu-2').filter((o) => o.kind === 'reboot' && o.state === 'succeeded').length;
  const done = reboots(), job = await running('gpu-2');
  assert.equal(world.hpctl('node', 'reboot', 'gpu-2').code, 0);
  await shows('gpu-2', /DRAIN|FAIL/);
  await until('the repair waits for its job', () => world.operations('gpu-2').some((o) => o.state === 'running' && o.steps?.some((s) => s.name === 'drain' && s.state === 'running')));
  scontrol('update', 'NodeName=gpu-2', 'State=RESUME');
  const warnings = () => world.events({ node: 'gpu-2' }).filter((e) => /put back into service during its repair/.test(e.message));
  await until('it is told', () => warnings().length > 0);
  await shows('gpu-2', /DRAIN|FAIL/);
  assert.match(world.slurmNode('gpu-2').reason, /^Action:Reboot|^holdfast/);
  assert.equal(warnings()[0].level, 'warn');
  assert.equal(world.slurmRun('squeue', '-h', '-j', job, '-o', '%T'), 'RUNNING');
  world.slurmRun('scancel', job);
  await world.repaired('gpu-2', 'reboot', done);
});

test('a machine that has less than its line says is not given work by anybody', async () => {
  const conf = join(world.slurm, 'slurm.conf'), text = readFileSync(conf, 'utf8');
  // In good order: a slurmctld that is killed comes back with what it saved last.
  const put = async (now) => {
    const [pid] = readFileSync(join(world.slurm, 'run/slurmctld.pid'), 'utf8').split(' ');
    writeFileSync(conf, now);
    scontrol('shutdown', 'slurmctld');
    await until('slurmctld has ended', () => !existsSync(`/proc/${pid}`) || /^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8')));
    world.lab('end', world.slurm, 'slurmctld');
    world.lab('begin', world.slurm, 'slurmctld');
  };
  const done = repairs('gpu-4').length;
  await put(text.replace(/^(NodeName=gpu-4 .*)RealMemory=1024/m, '$1RealMemory=900000000'));
  await shows('gpu-4', /INVALID_REG/);
  await world.looks(4);
  assert.match(world.slurmNode('gpu-4').state, /INVALID_REG/, 'nobody resumes it');
  assert.equal(repairs('gpu-4').length, done);
  const why = await until('it is told', () => { const e = world.json('node', 'explain', 'gpu-4'); return /Slurm keeps it out by itself: Low RealMemory/.test(e.text) && e; });
  assert.equal(why.explanation, 'nothing-is-wrong');
  // A fault is repaired; its end waits for the memory, which Slurm looks at itself.
  world.kernel('gpu-4', FELL_OFF);
  const operation = await until('a repair that waits', () => world.operations('gpu-4').find((o) => o.steps?.some((s) => s.name === 'resume' && s.state === 'running' && s.detail)));
  assert.match(operation.steps.find((s) => s.name === 'resume').detail, /Invalid node state/);
  assert.match(world.slurmNode('gpu-4').state, /INVALID_REG/);
  await put(text);
  await world.repaired('gpu-4', operation.kind);
});

test('a slurmctld that comes up with what it saved before a repair was over asks for no second one', async () => {
  world.kernel('gpu-4', FELL_OFF);
  const mark = await until('its mark', () => /^Action:(Reboot|Replace)$/.exec(world.slurmNode('gpu-4').reason));
  const kind = mark[1].toLowerCase(), count = () => world.operations('gpu-4').filter((o) => o.kind === kind && o.state === 'succeeded').length, earlier = count();
  const saved = await until('Slurm has saved it', () => {
    const text = readFileSync(join(world.slurm, 'state/node_state'));
    return text.includes(mark[0]) && text;
  });
  await world.repaired('gpu-4', kind, earlier);
  world.lab('end', world.slurm, 'slurmctld');
  writeFileSync(join(world.slurm, 'state/node_state'), saved);
  world.lab('begin', world.slurm, 'slurmctld');
  const release = await until('it is given back', () => world.operations('gpu-4').find((o) => o.kind === 'release' && o.state === 'succeeded' && o.reason.includes(`mark of the repair before (${mark[0]})`)));
  assert.equal(release.actor, 'policy');
  await until('gpu-4 idle', () => world.slurmNode('gpu-4').state === 'IDLE' && world.node('gpu-4').state === 'ready');
  await world.looks(4);
  assert.equal(count(), earlier + 1);
  assert.equal(world.operations('gpu-4').filter((o) => ['reboot', 'replace'].includes(o.kind) && o.state !== 'succeeded').length, 0);
});

test('a node whose slurmd is dead while its agent is well is shown as unhealthy, and nothing is done to it', async () => {
  const name = 'gpu-3', done = repairs(name).length;
  const slurmd = readdirSync('/proc').filter((p) => /^\d+$/.test(p)).filter((p) => {
    try {
      const words = readFileSync(`/proc/${p}/cmdline`, 'utf8').split('\0');
      return /(^|\/)slurmd$/.test(words[0]) && words.includes(name) && readFileSync(`/proc/${p}/environ`, 'utf8').includes(world.dir);
    } catch {
      return false; // it has ended
    }
  });
  assert.equal(slurmd.length, 1);
  process.kill(Number(slurmd[0]), 'SIGSTOP'); // killed, its machine would start it again
  try {
    await shows(name, /DOWN.*NOT_RESPONDING/);
    const row = await until('the table says so', () => new RegExp(`^${name} +\\S+ +ready +unhealthy .*Slurm gets no answer from its daemon on the node`, 'm').exec(world.hpctl('node', 'list').out));
    assert.ok(row);
    const { attention } = world.json('node', 'describe', name);
    assert.equal(attention, 'kept-out');
    assert.equal(world.json('node', 'list', '--health', 'unhealthy').length, 1);
    assert.match(world.hpctl('cluster', 'describe', 'demo').out, new RegExp(`${name}.*Slurm gets no answer`));
    await world.looks(4);
    assert.equal(repairs(name).length, done);
  } finally {
    process.kill(Number(slurmd[0]), 'SIGCONT');
  }
  await until('it is healthy again', () => world.node(name).health === 'healthy' && world.slurmNode(name).state === 'IDLE');
});
