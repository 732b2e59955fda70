// Repairs that wait for a person: on a phone first. Evidence, the jobs hit, both answers, and several at once.
import { ask, maybe, pages, segment } from './api.js';
import { answer, verb } from './answer.js';
import { confirm, jobsHit, jobsOn, reasonField, say } from './dialog.js';
import { clusterPath, h, link, nodeLink, path, same, table, theirs } from './dom.js';
import { ago, plural, sentence } from './format.js';
import { badge } from './looks.js';

const EVIDENCE = 30; // so many of them are read with their evidence
const said = new Map();

async function evidenceOf(a) {
  if (!said.has(a.id)) {
    if (said.size > 300) said.clear();
    said.set(a.id, await maybe(ask(`clusters/${segment(a.cluster)}/nodes/${segment(a.node)}/explanation`)));
  }
  return said.get(a.id);
}

async function readAll() {
  const { items, more } = await pages('approvals', { state: 'asked', limit: 500 }, 500);
  const [jobs, evidence, before] = await Promise.all([
    Promise.all([...new Set(items.map((a) => a.cluster))].filter(Boolean).map(async (c) => [c, await jobsOn(c)])),
    Promise.all(items.slice(0, EVIDENCE).filter((a) => a.cluster && a.node).map(async (a) => [a.id, await evidenceOf(a)])),
    maybe(ask('approvals?limit=30'))]);
  return { items, more, jobs: new Map(jobs), evidence: new Map(evidence), before: before.items.filter((a) => a.state !== 'asked') };
}

const DOES = {
  reset: 'The node is cordoned and its jobs leave as the policy says. Then the GPU is reset and checked, and the node returns to service.',
  reboot: 'The node is cordoned and its jobs leave as the policy says. Then the machine reboots, is checked and returns to service.',
  replace: 'The node is cordoned and its jobs leave as the policy says. Then the machine is terminated and a new one takes its place under the same name.',
};

function evidenceView(explained) {
  if (!explained) return h('p', { class: 'quiet' }, 'Open the node to see the evidence.');
  if (explained.error) return h('p', { class: 'quiet' }, explained.error);
  return (explained.evidence ?? []).slice(0,
    5).map((v) => h('div', { class: 'evidence', key: `${v.id}` },
    h('p', {}, h('strong', {}, v.code), v.device && ` on ${v.device}`, ' ', badge(v.severity), ` ${plural(v.count, 'time')}, last `, ago(v.lastAt)),
    v.rawLine && h('code', {}, v.rawLine)));
}

function card(ctx, data, a) {
  const one = async (yes, event) => {
    const box = event.target.closest('.approval');
    box.querySelectorAll('button').forEach((b) => (b.disabled = true));
    try {
      say(await answer(a.id, yes, box.querySelector('[name=reason]').value.trim()));
    } catch (error) {
      say(error.message);
      box.querySelectorAll('button').forEach((b) => (b.disabled = false));
    }
    ctx.again();
  };
  const jobs = data.jobs.get(a.cluster);
  const chosen = ctx.memory.chosen ?? new Set();
  return h('article', { class: `card approval ${ctx.names[0] === a.id ? 'asked-for' : ''}`, key: a.id, id: `approval-${a.id}` },
    h('div', { class: 'row' }, h('h2', {}, `${verb(a)} `, nodeLink(a.cluster, a.node), '?'),
      ctx.may('operator') && data.items.length > 1 && h('label', { class: 'check' },
      h('input', { type: 'checkbox', checked: chosen.has(a.id), 'aria-label': `Select ${verb(a)} ${a.node}`, onchange: (e) => {
      if (e.target.checked) chosen.add(a.id);
      else chosen.delete(a.id);
      ctx.memory.chosen = chosen;
      ctx.draw();
    } }), 'select')),
    h('p', { class: 'quiet' }, 'Cluster ', link(clusterPath(a.cluster), a.cluster), ' · asked ', ago(a.askedAt), ' · expires ', ago(a.expiresAt)),
    h('p', { class: 'why' }, a.sentence),
    h('h3', {}, 'Jobs hit'), jobs && jobsHit(jobs, a.node),
    h('h3', {}, 'Evidence'), evidenceView(data.evidence.get(a.id)),
    h('p', { class: 'quiet' }, DOES[a.action]),
    ctx.may('operator') ? h('form', { class: 'answer', onsubmit: (event) => event.preventDefault() },
      h('input', { name: 'reason', maxlength: 191, 'aria-label': `Reason, for ${a.node}`, placeholder: 'Reason (optional)', autocomplete: 'off', oninput: theirs }),
      h('button', { type: 'button', class: 'primary big', onclick: (event) => one(true, event) }, 'Approve'),
        h('button', { type: 'button', class: 'big', onclick: (event) => one(false, event) }, 'Reject'))
      : h('p', { class: 'quiet' }, 'An operator can answer: ', h('code', {}, `hpctl operation approve ${a.id}`)));
}

function batch(ctx, data) {
  const chosen = data.items.filter((a) => ctx.memory.chosen?.has(a.id));
  if (chosen.length === 0) return undefined;
  const hit = new Set(chosen.flatMap((a) => (data.jobs.get(a.cluster)?.on.get(a.node) ?? []).map((j) => `${a.cluster}/${j.id}`)));
  const all = (yes) => confirm({
    title: `${yes ? 'Approve' : 'Reject'} ${plural(chosen.length, 'repair')}?`, verb: `${yes ? 'Approve' : 'Reject'} ${chosen.length}`, fields: [reasonField()],
    body: [h('p', {}, chosen.map((a) => `${a.action} ${a.node}`).join(', '), '.'),
      h('p', {}, yes ? `${hit.size ? plural(hit.size, 'running job') : 'No running job'} ${hit.size === 1 ? 'is' : hit.size ? 'are' : 'is'} hit.` : 'The nodes stay held.')],
    run: async ({ reason }) => {
      const ended = await Promise.allSettled(chosen.map((a) => answer(a.id, yes, reason.trim())));
      const refused = ended.filter((e) => e.status === 'rejected');
      ctx.memory.chosen = new Set();
      ctx.again();
      return `${ended.length - refused.length} answered.${refused.length ? ` ${refused.length} refused: ${sentence(refused[0].reason.message)}` : ''}`;
    } });
  return h('div', { class: 'batch', key: 'batch' }, h('span', {}, `${chosen.length} selected`),
    h('button', { type: 'button', class: 'primary', onclick: () => all(true) }, `Approve ${chosen.length}`),
    h('button', { type: 'button', onclick: () => all(false) }, `Reject ${chosen.length}`));
}

export const approvals = {
  local: true,
  title: () => 'Approvals',
  wants: (ctx, event) => ['approval', 'decision', 'verdict', 'jobs', 'operation-started', 'node-state'].includes(event.kind),
  load: readAll,
  render(ctx, data) {
    const [id] = ctx.names;
    const first = [...data.items].sort((a, b) => (b.id === id) - (a.id === id));
    const past = data.before.find((a) => a.id === id);
    return [
      h('h1', { key: 'h1' }, 'Approvals'),
      id && !data.items.some((a) => a.id === id) && h('p', { class: 'banner', key: 'gone' },
        past ? `This ${past.action} of ${past.node} is ${past.state}${past.answeredBy ? ` by ${past.answeredBy}` : ''}.` : 'This approval does not wait any more.'),
      data.items.length === 0 && h('div', { class: 'empty', key: 'empty' }, h('p', {}, h('strong', {}, 'No repair waits for you.')),
        h('p', {}, 'Repairs ask first where the policy has the mode approve for their class of fault. docs/policies.md says how.')),
      data.items.length > 1 && ctx.may('operator') && h('p', { class: 'row', key: 'all' }, h('button', { type: 'button', class: 'plain', onclick: () => {
        ctx.memory.chosen = new Set(ctx.memory.chosen?.size === data.items.length ? [] : data.items.map((a) => a.id));
        ctx.draw();
      } }, ctx.memory.chosen?.size === data.items.length ? 'Select none' : `Select all ${data.items.length}`)),
      h('div', { class: 'approvals', key: 'list' }, first.map((a) => card(ctx, data, a))),
      batch(ctx, data),
      h('section', { key: 'before' }, h('h2', {}, 'Answered lately'),
        table([['Repair', (a) => [`${a.action} `, nodeLink(a.cluster, a.node)]], ['Became', (a) => badge(a.state)], ['By', (a) => a.answeredBy],
        ['When', (a) => ago(a.answeredAt)], ['Reason', (a) => a.reason], ['Waits for', (a) => a.waitsFor],
        ['Operation', (a) => a.state === 'done' && link(path('operations', a.id), a.id)]],
        data.before, { key: (a) => a.id, nothing: 'None yet.' })),
      same('hpctl operation approvals', 'GET /v1/approvals?state=asked'),
    ];
  },
};
