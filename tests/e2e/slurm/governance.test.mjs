// Scheduler configurations and quotas in a real Slurm: partitions get their tier and get the old one back, also after slurmctld
// forgot it and after hpd was killed; with accounting, teams have limits that hold back their jobs. Nothing that somebody else
// made is touched, and what is not so is not said to be.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { World, until } from '../lib/world.mjs';

const p5 = 'ml.p5.48xlarge';

class Governed extends World {
  async call(method, path, body, headers = {}) {
    const reply = await fetch(this.url + path, { method, headers: { authorization: `Bearer ${this.token}`, 'content-type': 'application/json', ...headers }, body: body && JSON.stringify(body) });
    const text = await reply.text();
    return { status: reply.status, body: text === '' ? undefined : JSON.parse(text) };
  }

  async must(method, path, body, version) {
    const { status, body: answer } = await this.call(method, path, body, version === undefined ? {} : { 'if-match': `"${version}"` });
    assert.ok(status < 300, `${method} ${path}: ${status} ${JSON.stringify(answer)}`);
    return answer;
  }

  async begin() {
    await this.start();
    await this.must('POST', '/v1/clusters', { name: 'train', orchestrator: 'slurm', instanceGroups: [{ name: 'gpu', instanceCount: 0, provider: 'manual' }] });
    return this;
  }

  // What has become of it, once that is known.
  settled(path, what = () => true) {
    return until(`${path} is settled`, async () => {
      const one = await this.must('GET', path);
      return !/ing$/.test(one.status) && what(one) && one;
    });
  }

  tier(partition = 'dev') {
    return Number(/PriorityTier=(\d+)/.exec(this.slurmRun('scontrol', '-o', 'show', 'partition', partition))[1]);
  }

  // Rows of sacctmgr by their first field.
  kept(noun, format, ...where) {
    const rows = this.slurmRun('sacctmgr', '-n', '-P', 'show', noun, `format=${format}`, ...where).split('\n').filter(Boolean);
    return Object.fromEntries(rows.map((row) => [row.split('|')[0], row.split('|').slice(1)]));
  }
}

const CONFIG = '/v1/clusters/train/scheduler-config';
const QUOTAS = '/v1/clusters/train/quotas';
const make = (world, schedulerConfig) => world.must('POST', CONFIG, { name: 'main', schedulerConfig });
const told = (world, kind) => world.events({ kind }).map((e) => [e.level, e.message]);

describe('without accounting', () => {
  const world = new Governed({ cluster: false });
  before(() => world.begin());
  after(() => world.end());

  test('a partition of a class has its weight for tier, until the configuration goes', async () => {
    assert.equal(world.tier(), 1);
    const made = await make(world, { priorityClasses: [{ name: 'dev', weight: 70 }] });
    assert.deepEqual([made.status, made.applied], ['Creating', false]);
    const one = await world.settled(CONFIG);
    assert.deepEqual([one.status, one.applied, one.failureReason], ['Created', true, undefined], JSON.stringify(one));
    assert.deepEqual(one.statusDetails, { PriorityClasses: 'Created' });
    assert.ok(Date.parse(one.appliedAt) > 0);
    assert.equal(world.tier(), 70);
    assert.ok(told(world, 'scheduler-config').some(([level, message]) => level === 'info' && /goes by all of it/.test(message)));

    await world.must('PATCH', CONFIG, { schedulerConfig: { priorityClasses: [{ name: 'dev', weight: 30 }] } }, 1);
    assert.equal((await world.settled(CONFIG)).status, 'Updated');
    assert.equal(world.tier(), 30);
  });

  test('what slurmctld forgot it is told again', async () => {
    world.lab('end', world.slurm, 'slurmctld');
    world.lab('begin', world.slurm, 'slurmctld');
    await until('slurmctld is back', () => world.run('scontrol', 'ping').out.includes('is UP'));
    world.slurmRun('scontrol', 'reconfigure'); // reads the tier of slurm.conf
    await until('the tier is back', () => world.tier() === 30);
    assert.equal((await world.settled(CONFIG)).applied, true);
  });

  test('each part says for itself why it does not hold', async () => {
    await world.must('PATCH', CONFIG, { schedulerConfig: { priorityClasses: [{ name: 'dev', weight: 40 }, { name: 'prod', weight: 90 }], fairShare: 'Enabled', idleResourceSharing: 'Enabled' } }, 2);
    const one = await world.settled(CONFIG);
    assert.deepEqual([one.status, one.applied], ['UpdateFailed', false]);
    assert.deepEqual(one.statusDetails, { PriorityClasses: 'UpdateFailed', FairShare: 'UpdateFailed', IdleResourceSharing: 'UpdateFailed' });
    for (const word of [/no partition named prod/, /AccountingStorageType=accounting_storage\/none/, /ceilings/]) assert.match(one.failureReason, word);
    await until('what can be done is done', () => world.tier() === 40);
    await world.must('PATCH', CONFIG, { schedulerConfig: { priorityClasses: [{ name: 'dev', weight: 40 }], fairShare: 'Disabled' } }, 3);
    assert.deepEqual((await world.settled(CONFIG)).statusDetails, { PriorityClasses: 'Updated', FairShare: 'Updated' });
  });

  test('a quota needs accounting and says so', async () => {
    await world.must('POST', QUOTAS, { name: 'vision', computeQuotaTarget: { teamName: 'vision' }, computeQuotaConfig: { computeQuotaResources: [{ instanceType: p5, count: 1 }] } });
    const one = await world.settled(`${QUOTAS}/vision`);
    assert.deepEqual([one.status, one.applied], ['CreateFailed', false]);
    assert.match(one.failureReason, /Slurm keeps no accounting \(AccountingStorageType=accounting_storage\/none\)/);
    assert.ok(told(world, 'compute-quota').some(([level, message]) => level === 'warn' && /keeps no accounting/.test(message)));
  });

  test('while Slurm is away nothing is claimed, and a hpd that is killed goes on', async () => {
    world.lab('end', world.slurm, 'slurmctld');
    await world.must('PATCH', CONFIG, { schedulerConfig: { priorityClasses: [{ name: 'dev', weight: 55 }] } }, 4);
    const waiting = await until('it says what it waits for', async () => {
      const one = await world.must('GET', CONFIG);
      return /not applied yet: .*(contact|end within|before)/.test(one.appliedReason) && one;
    });
    assert.deepEqual([waiting.status, waiting.applied, waiting.failureReason], ['Updating', false, undefined]);
    await world.killHpd();
    world.lab('begin', world.slurm, 'slurmctld');
    await world.startHpd();
    assert.equal((await world.settled(CONFIG)).status, 'Updated');
    assert.equal(world.tier(), 55);
  });

  test('the tier of before comes back when the configuration goes, also over a crash', async () => {
    await world.must('DELETE', CONFIG);
    await world.killHpd();
    await world.startHpd();
    await until('the tier of before', () => world.tier() === 1);
    await make(world, { priorityClasses: [{ name: 'dev', weight: 60 }] });
    await world.settled(CONFIG);
    assert.equal(world.tier(), 60);
    await world.must('DELETE', '/v1/clusters/train'); // takes its configuration along
    await until('the tier of before', () => world.tier() === 1);
  });
});

describe('with accounting', () => {
  const world = new Governed({ cluster: false, lab: ['--accounting'] });
  const limits = (...parts) => parts.sort().join(',');
  const quota = (team, resources, more = {}) => world.must('POST', QUOTAS, { name: team, computeQuotaTarget: { teamName: team, fairShareWeight: 7 }, computeQuotaConfig: { computeQuotaResources: resources }, ...more });
  const job = (id) => world.slurmRun('squeue', '-h', '-j', id, '-o', '%T %r');
  const submit = (...args) => /\d+/.exec(world.slurmRun('sbatch', '-o', '/dev/null', ...args, '--wrap', 'sleep 300'))[0];
  before(() => world.begin());
  after(() => world.end());

  test('a team has a QOS and an account with its limits and its weight', async () => {
    await quota('vision', [{ instanceType: p5, count: 2, accelerators: 16, vcpu: 2, memoryInGiB: 1.5 }]);
    const one = await world.settled(`${QUOTAS}/vision`);
    assert.deepEqual([one.status, one.applied, one.failureReason], ['Created', true, undefined], JSON.stringify(one));
    const [priority, tres] = world.kept('qos', 'Name,Priority,GrpTRES')['holdfast-team-vision'];
    assert.deepEqual([priority, limits(...tres.split(','))], ['0', limits('cpu=2', 'gres/gpu=16', 'mem=1.50G', 'node=2')]);
    const [share, assoc, , preset] = world.kept('assoc', 'Account,Share,GrpTRES,QOS,DefaultQOS')['holdfast-team-vision'];
    assert.deepEqual([share, limits(...assoc.split(',')), preset], ['7', limits('cpu=2', 'gres/gpu=16', 'mem=1.50G', 'node=2'), 'holdfast-team-vision']);
  });

  test('the limit holds back the job that would break it', async () => {
    world.slurmRun('sacctmgr', '-i', 'add', 'user', world.slurmRun('id', '-un'), 'account=holdfast-team-vision');
    const first = submit('-A', 'holdfast-team-vision', '-n', '2', '--mem=100');
    await until('the first job runs', () => job(first).startsWith('RUNNING'));
    const second = submit('-A', 'holdfast-team-vision', '-n', '1', '--mem=100');
    await until('the second waits for the limit', () => /PENDING (Assoc|QOS)GrpCpuLimit/.test(job(second)));
    await world.must('PATCH', `${QUOTAS}/vision`, { computeQuotaConfig: { computeQuotaResources: [{ instanceType: p5, vcpu: 3, memoryInGiB: 2 }] } }, 1);
    assert.equal((await world.settled(`${QUOTAS}/vision`)).status, 'Updated');
    assert.equal(world.kept('qos', 'Name,GrpTRES')['holdfast-team-vision'][0].split(',').sort().join(), 'cpu=3,mem=2G');
    await until('more room lets it run', () => job(second).startsWith('RUNNING'));
    world.slurmRun('scancel', first, second);
  });

  test('a class is a partition, a QOS, or both, and teams may ask for it', async () => {
    await make(world, { priorityClasses: [{ name: 'dev', weight: 20 }, { name: 'prod', weight: 90 }], fairShare: 'Enabled', idleResourceSharing: 'Disabled' });
    const one = await world.settled(CONFIG);
    assert.deepEqual([one.status, one.statusDetails], ['Created', { PriorityClasses: 'Created', FairShare: 'Created', IdleResourceSharing: 'Created' }], JSON.stringify(one));
    const qos = world.kept('qos', 'Name,Priority');
    assert.deepEqual([qos['holdfast-class-dev'], qos['holdfast-class-prod'], world.tier()], [['20'], ['90'], 20]);
    await until('the team may use them', () => /holdfast-class-prod/.test(world.kept('assoc', 'Account,QOS')['holdfast-team-vision'][0]));
    assert.equal((await world.settled(`${QUOTAS}/vision`)).applied, true);
  });

  test('what Slurm cannot say is not said to be applied', async () => {
    await quota('odd', [], {
      computeQuotaConfig: { computeQuotaResources: [{ instanceType: p5, vcpu: 0.5, acceleratorPartition: { type: 'mig-1g.5gb', count: 3 } }], resourceSharingConfig: { strategy: 'LendAndBorrow' }, preemptTeamTasks: 'LowerPriority' },
    });
    const one = await world.settled(`${QUOTAS}/odd`);
    assert.deepEqual([one.status, one.applied], ['CreateFailed', false]);
    for (const word of [/ComputeQuotaResources: /, /ResourceSharingConfig: .*ceilings/, /PreemptTeamTasks: .*no preemption/]) assert.match(one.failureReason, word);
    await world.must('DELETE', `${QUOTAS}/odd`);
    await until('its account is gone', () => world.kept('account', 'Account')['holdfast-team-odd'] === undefined);
  });

  test("somebody else's QOS and account are left alone", async () => {
    world.slurmRun('sacctmgr', '-i', 'add', 'qos', 'holdfast-team-speech', 'Priority=3');
    world.slurmRun('sacctmgr', '-i', 'add', 'account', 'holdfast-team-audio');
    await quota('speech', [{ instanceType: p5, count: 1 }]);
    await quota('audio', [{ instanceType: p5, count: 1 }]);
    for (const [team, thing] of [['speech', 'QOS'], ['audio', 'account']]) {
      const one = await world.settled(`${QUOTAS}/${team}`);
      assert.match(one.failureReason, new RegExp(`${thing} named holdfast-team-${team} that this server did not make`));
      await world.must('DELETE', `${QUOTAS}/${team}`);
    }
    await until('what was made for them is gone', () => world.kept('qos', 'Name')['holdfast-team-audio'] === undefined);
    assert.deepEqual(world.kept('qos', 'Name,Priority,GrpTRES')['holdfast-team-speech'], ['3', '']);
    assert.ok('holdfast-team-audio' in world.kept('account', 'Account'));
  });

  test('without slurmdbd a quota waits, and what was in force is not denied', async () => {
    world.lab('end', world.slurm, 'slurmdbd');
    await quota('late', [{ instanceType: p5, count: 1 }]);
    await until('it says what it waits for', async () => /onnection refused/.test((await world.must('GET', `${QUOTAS}/late`)).appliedReason));
    assert.equal((await world.must('GET', `${QUOTAS}/late`)).status, 'Creating');
    const before = await world.must('GET', `${QUOTAS}/vision`);
    assert.equal(before.applied, true, JSON.stringify(before));
    world.lab('begin', world.slurm, 'slurmdbd');
    assert.equal((await world.settled(`${QUOTAS}/late`)).status, 'Created');
  });

  test('a quota that is switched off takes its limits away, and people stay where they were put', async () => {
    await world.must('PATCH', `${QUOTAS}/late`, { activationState: 'Disabled' }, 1);
    const off = await world.settled(`${QUOTAS}/late`);
    assert.deepEqual([off.status, off.applied], ['Updated', false]);
    assert.equal(world.kept('account', 'Account')['holdfast-team-late'], undefined);
    assert.equal(world.kept('qos', 'Name')['holdfast-team-late'], undefined);
    await world.must('DELETE', `${QUOTAS}/vision`);
    await world.must('DELETE', CONFIG);
    await until('nothing of ours is left but the account with somebody in it', () => {
      const ours = Object.keys({ ...world.kept('qos', 'Name'), ...world.kept('account', 'Account') }).filter((name) => /^holdfast-/.test(name)).sort();
      return ours.join() === 'holdfast-team-audio,holdfast-team-speech,holdfast-team-vision' && world.tier() === 1;
    });
    const [share, tres, qos] = world.kept('assoc', 'Account,Share,GrpTRES,QOS')['holdfast-team-vision'];
    assert.deepEqual([share, tres, /holdfast/.test(qos)], ['1', '', false]);
  });
});
