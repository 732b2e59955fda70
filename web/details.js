// One operation, incident or deep check.
import { ask, maybe, pages, post, query, segment } from './api.js';
import { confirm } from './dialog.js';
import { facts, h, link, nodeLink, path, same, table } from './dom.js';
import { ago, capital, duration, plural, since, when } from './format.js';
import { clusterLink, took } from './lists.js';
import { badge } from './looks.js';
import { stepTable } from './node.js';
import { timeline } from './timeline.js';

const crumb = (hash, all, one) => h('p', { class: 'crumb', key: 'crumb' }, link(hash, all), ` / ${one}`);
const tone = { failed: 'bad', succeeded: 'good', passed: 'good', ended: 'good', open: 'bad', cancelled: 'warn' };
const titled = (state, title, ...below) => h('div', { class: `headline ${tone[state] ?? 'work'}`, key: 'headline' }, h('h1', {}, title), h('p', { class: 'quiet' }, below));

export const operation = {
  title: ({ names }, o) => o ? `${o.one.kind} ${o.one.node ?? o.one.cluster ?? ''}` : names[0],
  wants: (ctx, e) => !e.operation || e.operation === ctx.names[0],
  async load({ names: [id] }) {
    const one = await ask(`operations/${segment(id)}`);
    return { one, events: (await maybe(ask(`events${query({ operation: id, limit: 200 })}`))).items };
  },
  render(ctx, { one: o, events }) {
    const open = o.state === 'pending' || o.state === 'running';
    return [crumb('#/operations', 'Operations', o.id),
      titled(o.state, [capital(o.kind), ' ', o.node ? nodeLink(o.cluster, o.node) : clusterLink(o)], badge(o.state), ' · asked by ', o.actor, ' ', ago(o.createdAt)),
      o.why && h('p', { class: 'why', key: 'why' }, o.why), o.error && h('p', { class: 'banner bad', key: 'error' }, o.error),
      o.progress && h('p', { key: 'progress' },
        `${o.progress.nodesInService} of ${plural(o.progress.nodesWanted, 'node')} in service, ${o.progress.nodesLeft} to go, ${o.progress.nodesFailed} failed.`),
      ctx.may('operator') && open && !o.cancelAsked && h('div', { class: 'row', key: 'actions' },
        h('button', { type: 'button',
        onclick: () => confirm({ title: `Cancel the ${o.kind}?`,
        body: h('p', {}, 'It stops at the next step that can be left. The node is given back, or held where it cannot be.'), verb: 'Cancel the operation',
        danger: true, run: async () => {
        await post(`operations/${segment(o.id)}/cancel`);
        ctx.again();
        return 'It is asked to stop.';
      } }) }, 'Cancel the operation')),
      o.steps.length > 0 && h('section', { key: 'steps' }, h('h2', {}, 'Steps'), stepTable(o.steps)),
      facts([['Reason', o.reason], ['Jobs', o.urgency === 'now' ? 'give way at once' : 'may finish within the limit'], ['Job wait', o.jobWait],
        ['Job signal', o.jobSignal], ['Code', o.code], ['Device', o.device], ['Old machine', o.oldInstanceId], ['New machine', o.newInstanceId],
        ['Began', when(o.startedAt)], ['Ended', when(o.finishedAt)], ['Took', took(o.startedAt ?? o.createdAt, o.finishedAt)]]),
      h('section', { key: 'events' }, h('h2', {}, 'Events'), timeline(events, { nothing: 'None yet.' })),
      same(`hpctl operation describe ${o.id}`, `GET /v1/operations/${o.id}`)];
  },
};

export const incident = {
  title: ({ names }, i) => (i ? `${i.level} ${i.domain}` : names[0]),
  wants: (ctx, e) => /^(incident|node|agent)/.test(e.kind),
  load: ({ names: [id] }) => ask(`incidents/${segment(id)}`),
  render: (ctx, i) => [crumb('#/incidents', 'Incidents', i.id),
    titled(i.state, `${i.level} ${i.domain}: ${i.affected} of ${plural(i.nodes, 'node')} affected`, clusterLink(i), ` · ${i.cause} · `,
      i.state === 'open' ? ['open for ', since(i.startedAt)] : ['ended ', ago(i.endedAt)]),
    h('p', { key: 'what' }, i.state === 'open' ? `Check the ${i.level}: one cause is likely. Its nodes are held and none is repaired automatically.` : `It ended: ${i.endedBy ?? 'not known how'}.`, i.settledSince && [' It is settled since ', ago(i.settledSince), '.']),
    ctx.may('operator') && i.state === 'open' && h('div', { class: 'row', key: 'actions' },
      h('button', { type: 'button',
      onclick: () => confirm({ title: `End the incident of ${i.level} ${i.domain}?`,
      body: h('p', {}, 'It ends automatically when the place is back for a while. End it when you know that it is over: what its nodes still show is then repaired node by node, and jobs on these nodes give way as the policy says.'), verb: 'End the incident', danger: true, run: async () => {
      await post(`incidents/${segment(i.id)}/end`);
      ctx.again();
      return 'The incident is ended.';
    } }) }, 'End the incident')),
    h('section', { key: 'members' }, h('h2', {}, 'Nodes'),
      table([['Node', (m) => nodeLink(i.cluster, m.node)], ['Shows', (m) => (m.backAt ? 'back' : m.cause)], ['Since', (m) => ago(m.since)],
      ['Back', (m) => ago(m.backAt)]], i.members, { key: (m) => m.node })),
    same(`hpctl incident describe ${i.id}`, `GET /v1/incidents/${i.id}`)],
};

// What the same measure was in other checks of the same kind of machine: where this node lies among them.
async function others(one) {
  const { items } = await pages('checks', { cluster: one.cluster, limit: 100 }, 100).catch(() => ({ items: [] }));
  const alike = items.filter((c) => c.id !== one.id && c.instanceType === one.instanceType && ['passed', 'failed'].includes(c.state)).slice(0, 24);
  const read = await Promise.all(alike.map((c) => maybe(ask(`checks/${segment(c.id)}`))));
  const found = new Map();
  for (const c of read) for (const t of c.tests ?? []) for (const m of t.measures) if (Number.isFinite(parseFloat(m.value))) found.set(`${t.name}/${m.name}`,
    [...(found.get(`${t.name}/${m.name}`) ?? []), parseFloat(m.value)]);
  return found;
}

function spread(values, mine) {
  if (!values || values.length < 3 || !Number.isFinite(mine)) return undefined;
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted[sorted.length >> 1];
  const off = middle ? Math.round((100 * (mine - middle)) / middle) : 0;
  return [`median ${middle}, ${sorted[0]} to ${sorted.at(-1)} in ${values.length}`, Math.abs(off) >= 10 && [' ', badge(`${off > 0 ? '+' : ''}${off}%`, 'warn')]];
}

export const check = {
  title: ({ names }, d) => (d ? `Check of ${d.one.node}` : names[0]),
  wants: (ctx, e) => !e.operation || e.operation === ctx.names[0],
  async load({ names: [id] }) {
    const one = await ask(`checks/${segment(id)}`);
    const [log, among] = await Promise.all([maybe(ask(`checks/${segment(id)}/logs`)), others(one)]);
    return { one, log: log.log, among };
  },
  render: (ctx, { one: c, log, among }) => [crumb('#/checks', 'Deep checks', c.id),
    titled(c.state, [`${capital(c.profile)} check of `, nodeLink(c.cluster, c.node)], badge(c.state),
      ` · ${c.passed} of ${plural(c.total, 'test')} passed · asked by ${c.actor} `, ago(c.createdAt)),
    c.detail && h('p', { class: 'why', key: 'detail' }, c.detail),
    h('section', { key: 'tests' }, h('h2', {}, 'Tests'), table([['Test', (t) => t.name], ['State', (t) => badge(t.state)], ['Took', (t) => duration(t.durationMs)],
      ['Measures', (t) => t.measures.map((m) => h('div', { key: m.name }, `${m.name} ${m.value}`,
        m.limit && h('span', { class: 'quiet' }, ` (limit ${m.limit})`), m.mark === 'failed' && [' ', badge('failed')]))],
      ['Among the others', (t) => t.measures.map((m) => h('div', { key: m.name, class: 'quiet' },
        spread(among.get(`${t.name}/${m.name}`), parseFloat(m.value))))], ['Detail', (t) => t.detail]], c.tests ?? [],
        { key: (t) => `${t.ordinal}`, nothing: 'The agent has not begun yet.' })),
    log && h('details', { key: 'log' }, h('summary', {}, 'Log'), h('pre', {}, log)),
    same(`hpctl check describe ${c.id}`, `GET /v1/checks/${c.id}`)],
};
