// A scheduler that is down, hangs, or answers garbage, endlessly or nothing: hpd says so, stays awake, repairs nothing on its
// word, loses no evidence, and goes on when the scheduler is back. Slurm's programs are scripts of our own here, which can
// do what the real ones do only on the worst of days; the real slurmctld stands still in slurmctld.test.mjs.
import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readFileSync, readdirSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { Local } from '../lib/local.mjs';
import { FELL_OFF, until } from '../lib/world.mjs';

// Keeps a node in a file "state<newline>reason<newline>address". An idle node is scontrol's shortest: what is not there
// is not asked for.
const SCONTROL = (dir) => `#!/bin/bash
D=${dir}
case $(cat $D/mode) in
down) echo 'slurm_load_node error: Unable to contact slurm controller (connect failure)' >&2; exit 1 ;;
hang) exec sleep 60 ;;
nothing) echo >>$D/looks; exit 0 ;;
garbage) head -c 3000 /dev/urandom; exit 0 ;;
words) echo 'NodeName= State=\${jndi} ;; rm -rf / NodeName=w-1 State='; echo 'NodeName=w-1 State=DOWN+FAIL+ Reason=Action:Replace [root@2026'; exit 0 ;;
half) S=IDLE; printf 'NodeName=w-1 Arch=x86_64 CPUAll'; exit 0 ;;
endless) exec yes 'NodeName=w-1 State=FAIL Reason=Action:Replace [root@2026-01-01T00:00:00]' ;;
esac
show() {
  { read -r s; read -r r; read -r a; } <$D/node.$1 || return
  printf 'NodeName=%s Arch=x86_64 CPUAlloc=0 CPUTot=4 NodeAddr=%s NodeHostName=%s State=%s ThreadsPerCore=1' $1 "$a" $1 "$s"
  [ -z "$r" ] || printf " Reason=%s [root@$(date +"$SLURM_TIME_FORMAT")]" "$r"
  echo
}
args=()
for a; do case $a in -a|-d|-o) ;; *) args+=("$a") ;; esac; done
case \${args[0]} in
show) if [ -n "\${args[2]}" ]; then show \${args[2]}; else for f in $D/node.*; do show \${f#$D/node.}; done; fi ;;
update)
  for a in "\${args[@]}"; do case $a in NodeName=*) n=\${a#*=} ;; State=*) st=\${a#*=} ;; Reason=*) re=\${a#*=} ;; NodeAddr=*) ad=\${a#*=} ;; esac; done
  { read -r s; read -r r; read -r a; } <$D/node.$n
  case $st in FAIL) s=IDLE+FAIL r=$re ;; DRAIN) s=IDLE+DRAIN r=$re ;; RESUME) s=IDLE r= ;; esac
  printf '%s\\n%s\\n%s\\n' "$s" "$r" "\${ad:-$a}" >$D/.new.$n && mv $D/.new.$n $D/node.$n ;;
esac
`;
const OTHER = (dir) => `#!/bin/bash
case $(cat ${dir}/mode) in
down) echo 'Unable to contact slurm controller (connect failure)' >&2; exit 1 ;;
hang) exec sleep 60 ;;
garbage) head -c 3000 /dev/urandom ;;
endless) exec yes xxxx ;;
esac
`;

let world, bin;
const mode = (name) => {
  writeFileSync(join(bin, 'mode.new'), name);
  renameSync(join(bin, 'mode.new'), join(bin, 'mode'));
};
const shown = (name) => readFileSync(join(bin, `node.${name}`), 'utf8').split('\n');

before(async () => {
  world = new Local({ recovery: { budgetPercent: 100 } });
  bin = join(world.dir, 'bin');
  mkdirSync(bin);
  writeFileSync(join(bin, 'scontrol'), SCONTROL(bin), { mode: 0o755 });
  for (const name of ['squeue', 'scancel', 'sinfo']) writeFileSync(join(bin, name), OTHER(bin), { mode: 0o755 });
  for (const name of ['w-1', 'w-2']) writeFileSync(join(bin, `node.${name}`), 'IDLE\n\n127.0.0.1\n');
  mode('good');
  const config = JSON.parse(readFileSync(world.config, 'utf8'));
  writeFileSync(world.config, JSON.stringify({ ...config, slurm: { binDir: bin, timeout: '1s' } }));
  await world.start();
  await world.create(2, { orchestrator: 'slurm' });
  await world.ready();
});
after(() => world?.end());

const children = () => readdirSync(`/proc/${world.hpd.pid}/task`).flatMap((t) => readFileSync(`/proc/${world.hpd.pid}/task/${t}/children`, 'utf8').trim().split(' ').filter(Boolean));
function isStuck(pid) {
  try {
    return /^(sleep|yes)\0/.test(readFileSync(`/proc/${pid}/cmdline`, 'utf8'));
  } catch {
    return false;
  }
}
const downs = async () => (await world.events('scheduler-down')).length;

for (const [i, name] of ['down', 'hang', 'garbage', 'words', 'half', 'endless'].entries()) {
  test(`scontrol: ${name}`, { timeout: 300000 }, async () => {
    const node = `w-${(i % 2) + 1}`;
    const [before, done] = [await downs(), (await world.repairs(node)).length];
    mode(name);
    await until('hpd says that the scheduler is down', async () => (await downs()) > before);
    const [event] = await world.events('scheduler-down');
    assert.match(event.message, /\w/);
    assert.doesNotMatch(event.message, /[\0-\x1f\x7f]/, 'nothing that plays with a terminal');
    // A fault meanwhile is heard and kept; nothing is done to any node on the word of such a scheduler.
    await world.kernel(node, FELL_OFF);
    await until('the verdict', async () => (await world.verdicts(node)).some((v) => v.code === 'xid.79' && v.state === 'open'));
    assert.equal((await world.call('GET', '/v1/clusters/demo/nodes')).status, 200);
    assert.deepEqual(await world.repairs(node === 'w-1' ? 'w-2' : 'w-1').then((all) => all.filter((o) => ['pending', 'running'].includes(o.state))), []);
    for (const n of ['w-1', 'w-2']) assert.equal(shown(n)[0], 'IDLE', 'it was not reached');
    mode('good');
    await until('repaired when it is back', async () => {
      const repairs = await world.repairs(node);
      return repairs.length === done + 1 && repairs[0].state === 'succeeded' && (await world.node(node)).state === 'ready';
    }).catch(async (error) => {
      throw new Error(`${error.message}\n${JSON.stringify([shown(node), await world.node(node), (await world.repairs(node))[0], await world.events()], null, 1)}\n${world.log.slice(-3000)}`);
    });
    await until('idle', () => shown(node)[0] === 'IDLE' && shown(node)[1] === '');
    assert.ok((await world.events('scheduler-back')).length >= before + 1);
    await until('no program that hung or had no end is left over', () => !children().some(isStuck));
  });
}

test('scontrol shows no node at all: nobody is repaired for that', async () => {
  const before = await Promise.all(['w-1', 'w-2'].map((n) => world.repairs(n)));
  mode('nothing');
  await until('a dozen looks', () => existsSync(join(bin, 'looks')) && readFileSync(join(bin, 'looks'), 'utf8').length >= 12);
  const after = await Promise.all(['w-1', 'w-2'].map((n) => world.repairs(n)));
  assert.deepEqual(after.map((o) => o.length), before.map((o) => o.length));
  for (const n of ['w-1', 'w-2']) assert.equal((await world.node(n)).state, 'ready');
  mode('good');
  await world.ready();
  const zombies = readdirSync('/proc').filter((p) => /^\d+$/.test(p)).filter((p) => {
    try {
      const stat = readFileSync(`/proc/${p}/stat`, 'utf8').split(') ')[1].split(' ');
      return stat[0] === 'Z' && Number(stat[1]) === world.hpd.pid;
    } catch {
      return false;
    }
  });
  assert.deepEqual(zombies, []);
});
