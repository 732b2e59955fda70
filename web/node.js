// One node: why it is as it is in words, what a person can do, what it is made of, and all that happened to it.
import { ask, maybe, query, segment } from './api.js';
import { actionButtons, operationsOf } from './actions.js';
import { answer, verb } from './answer.js';
import { jobLine, jobsOn, say } from './dialog.js';
import { clusterPath, copy, facts, h, link, path, same, table } from './dom.js';
import { ago, plural, since, told, when } from './format.js';
import { LOOKS, badge, lookOf } from './looks.js';
import { SORTS, sortOf, timeline } from './timeline.js';

async function load(ctx) {
  const [cluster, name] = ctx.names;
  const one = `clusters/${segment(cluster)}/nodes/${segment(name)}`;
  const of = { cluster, node: name };
  const [said, view, machine, verdicts, operations, events, checks, approvals, jobs] = await Promise.all([
    ask(`${one}/explanation`), ask(one), maybe(ask(`${one}/hardware`)), maybe(ask(`${one}/verdicts?limit=100`)), maybe(ask(operationsOf(cluster, name))),
    maybe(ask(`events${query({ ...of, limit: ctx.memory.events ?? 100 })}`)), maybe(ask(`checks${query({ ...of, limit: 20 })}`)),
      maybe(ask('approvals?state=asked&limit=200')), jobsOn(cluster)]);
  return { said, view, machine, verdicts: verdicts.items, operations: operations.items, events: events.items, moreEvents: events.nextCursor, checks: checks.items,
    approval: approvals.items.find((a) => a.node === name && a.cluster === cluster), jobs };
}

/* --- parts ---------------------------------------------------------------------------------------------------- */

function decisionView(d) {
  if (!d) return h('p', { class: 'quiet' }, 'Nothing has been decided about it yet. The first fault leads to the first decision.');
  return [
    h('p', { id: 'decision', key: 'decision' }, told(d.sentence)),
    facts([['Action', d.action], ['Rule', d.rule], ['Class', d.class], ['Device', d.device], ['When', ago(d.at)],
      ['Operation', d.operation && link(path('operations', d.operation), d.operation)], ['Fault table', d.tableVersion],
      ['Policy version', d.policyVersion && link(path('policy', 'versions', `${d.policyVersion}`), `${d.policyVersion}`)]]),
    d.beside?.length > 0 && h('p', { key: 'beside' }, 'Beside it: ', d.beside.map((b) => `${b.code}${b.device ? ` on ${b.device}` : ''} (${b.rule})`).join(', '), '.'),
    h('details', { key: 'gates', open: true }, h('summary', {}, 'Gates'),
      table([['Gate', (g) => g.gate], ['Result', (g) => badge(g.result)], ['Why', (g) => told(g.detail)]], d.gates.filter((g) => g.result !== 'not-asked'),
      { key: (g) => g.gate, nothing: 'No gate was asked.' })),
    h('details', { key: 'alternatives', open: true }, h('summary', {}, 'Not done'),
      table([['Action', (a) => a.action], ['Why not', (a) => a.why]], d.alternatives, { key: (a) => a.action, nothing: 'There was no alternative.' })),
  ];
}

export const stepTable = (steps) => table([['Step', (s) => s.name], ['State', (s) => badge(s.state)], ['Detail', (s) => told(s.detail)],
  ['Attempts', (s) => (s.attempts > 1 ? `${s.attempts}` : '')], ['Began', (s) => when(s.startedAt)],
  ['Took', (s) => (s.finishedAt && s.startedAt ? since(s.startedAt) && `${Math.round((Date.parse(s.finishedAt) - Date.parse(s.startedAt)) / 100) / 10} s` : s.startedAt && since(s.startedAt))], ['Until', (s) => (s.state === 'running' ? when(s.deadlineAt) : undefined)]],
  steps, { key: (s) => s.name });

// The pieces of the machine, each with what was seen of it and done about it.
function deviceTable({ machine, verdicts, operations, view }) {
  const pieces = (machine.hardware ?? []).map((p) => ({ ...p, names: [p.location, p.identity, p.serial].filter(Boolean) }));
  for (const device of new Set([...verdicts, ...operations].map((x) => x.device).filter(Boolean)))
    if (!pieces.some((p) => p.names.includes(device))) pieces.push({ kind: 'device', location: device, present: true, names: [device] });
  const of = (items, p) => items.filter((x) => p.names.includes(x.device));
  const verdictsOf = (p) => {
    const all = of(verdicts, p);
    const open = all.filter((v) => v.state === 'open').length;
    return all.length > 0 && [`${all.length}`, open > 0 && [', ', badge(`${open} open`, 'bad')], ` (${[...new Set(all.map((v) => v.code))].join(', ')})`];
  };
  return [view.lemon && h('p', { key: 'lemon' },
    `History weighs ${view.lemon.score} points${view.lemon.limit ? ` of ${view.lemon.limit}` : ''}: ${plural(view.lemon.repairs, 'repair')}, ${view.lemon.failedReturns} without return.`, view.lemon.isLemon && [' ', badge('lemon', 'bad')]),
    table([['Device', (p) => [h('strong', {}, p.kind), ' ', p.location]], ['Product', (p) => p.detail], ['Serial', (p) => p.serial ?? p.identity],
      ['Verdicts', verdictsOf], ['Repairs', (p) => of(operations, p).map((o) => o.kind).join(', ')], ['', (p) => !p.present && badge('gone', 'bad')],
      ['First seen', (p) => ago(p.firstSeenAt)]],
      pieces, { key: (p) => `${p.kind}-${p.location ?? ''}-${p.identity ?? ''}`, nothing: 'The agent has reported no devices yet.' })];
}

function approvalCard(ctx, approval) {
  const one = (yes) => async () => {
    try {
      say(await answer(approval.id, yes));
    } catch (error) {
      say(error.message);
    }
    ctx.again();
  };
  return h('div', { class: 'item', key: `approval-${approval.id}` },
    h('div', { class: 'what' }, h('strong', {}, `${verb(approval)} waits for an approval`),
    h('p', {}, 'Asked ', ago(approval.askedAt), ', expires ', ago(approval.expiresAt), '.')),
    h('div', { class: 'row' }, ctx.may('operator') && h('button', { type: 'button', class: 'primary', onclick: one(true) }, 'Approve'),
      ctx.may('operator') && h('button', { type: 'button', onclick: one(false) }, 'Reject'), link(path('approvals', approval.id), 'With a reason')));
}

const jobsView = ({ jobs, view }) => {
  if (jobs.unknown) return h('p', { class: 'warn' }, `Running jobs are not known: ${jobs.unknown}`);
  const on = jobs.on.get(view.name) ?? [];
  return on.length === 0 ? h('p', { class: 'quiet' }, 'No job runs on it now.') : h('ul', {},
    on.map((j) => h('li', { key: j.id }, link(path('clusters', view.cluster, 'jobs', j.id), jobLine(j)))));
};

function timelineView(ctx, data) {
  const chosen = ctx.query.sort ?? '';
  const shown = data.events.filter((e) => !chosen || sortOf(e.kind) === chosen);
  return h('section', { key: 'timeline' }, h('h2', {}, 'History'),
    h('div', { class: 'chips', role: 'group', 'aria-label': 'Show only' },
      SORTS.map((sort) => h('button',
      { type: 'button', class: 'chip', key: sort, 'aria-pressed': chosen === sort ? 'true' : 'false',
      onclick: () => ctx.set({ sort: chosen === sort ? '' : sort }) }, sort))),
    timeline(shown, { nothing: 'Nothing of this sort has happened to it.' }),
    data.moreEvents && h('button', { type: 'button', onclick: () => {
      ctx.memory.events = (ctx.memory.events ?? 100) + 400;
      ctx.again();
    } }, 'Show older'));
}

const stepsFor = (said) => said.nextSteps.length > 0 && h('ul', { class: 'next', key: 'next' },
  said.nextSteps.map((s) => h('li', { key: s.command }, h('code', {}, s.command), ' ',
  h('button', { type: 'button', class: 'plain', 'aria-label': `Copy: ${s.command}`, onclick: (e) => copy(s.command, e.target) }, 'copy'),
  h('span', { class: 'quiet' }, ` ${s.why}`))));

/* --- the page -------------------------------------------------------------------------------------------------- */

function head(ctx, data) {
  const { view, said } = data;
  const look = LOOKS[lookOf(view)];
  return [
    h('p', { class: 'crumb', key: 'crumb' }, link('#/', 'Clusters'), ' / ', link(clusterPath(view.cluster), view.cluster), ` / ${view.name}`),
    h('div', { class: `headline ${look.tone}`, key: 'headline' }, h('h1', {}, `${view.name} is ${look.label}`),
      h('p', { class: 'quiet' }, `group ${view.group}`, view.rack && ` · rack ${view.rack}`, view.switch && ` · switch ${view.switch}`,
      view.zone && ` · zone ${view.zone}`, ' · ', view.state, ' for ', since(view.stateSince), view.optedOut && ' · opted out')),
    h('p', { class: 'why', id: 'why', key: 'why' }, told(said.why)),
    stepsFor(said),
    data.approval && approvalCard(ctx, data.approval),
    ctx.may('operator') && h('div', { class: 'row actions', key: 'actions', role: 'group', 'aria-label': `Actions on ${view.name}` },
      actionButtons(ctx, { cluster: view.cluster, node: view.name, view })),
  ];
}

export const node = {
  local: true,
  title: ({ names: [cluster, name] }) => `${name} in ${cluster}`,
  wants: ({ names: [cluster, name] }, event) => (!event.node || event.node === name) && (!event.cluster || event.cluster === cluster),
  load,
  render(ctx, data) {
    const { view, said, verdicts, checks, machine } = data;
    const at = `/v1/clusters/${view.cluster}/nodes/${view.name}`;
    return [
      head(ctx, data),
      view.activeOperation && h('section', { key: 'operation' },
        h('h2', {}, 'At work: ', link(path('operations', view.activeOperation.id), view.activeOperation.kind)), stepTable(view.activeOperation.steps)),
      h('div', { class: 'columns', key: 'columns' },
        h('section', { key: 'decided' }, h('h2', {}, 'Last decision'), decisionView(said.decision)),
        h('section', { key: 'facts' }, h('h2', {}, 'Node'),
          facts([['Reason', view.reason && h('span', { id: 'reason' }, told(view.reason))], ['Health', badge(view.health)],
          ['Health since', ago(view.healthSince)], ['Looked at again', ago(view.retryAt)], ['Instance', view.instanceId], ['Provider id', view.providerRef],
          ['Machine', view.instanceState], ['Address', view.address], ['Boot', ago(view.bootAt)],
          ['Agent seen', ago(view.live?.lastHeartbeatAt)],
            ['Clock skew', view.live && Math.abs(view.live.clockSkewMs) > 500 ? `${view.live.clockSkewMs} ms` : undefined], ['UltraServer', view.ultraserver], ['Chassis', view.chassis], ['Power domain', view.powerDomain]]),
        h('h3', {}, 'Jobs'), jobsView(data))),
      timelineView(ctx, data),
      h('section', { key: 'devices' }, h('h2', {}, 'Devices'), deviceTable(data)),
      h('section', { key: 'verdicts' }, h('h2', {}, 'Verdicts'),
        table([['Code', (v) => v.code, 'nowrap'], ['Device', (v) => v.device], ['Severity', (v) => badge(v.severity)],
        ['State', (v) => badge(v.state, v.state === 'open' ? 'bad' : 'plain')], ['Last', (v) => ago(v.lastAt), 'nowrap'], ['Times', (v) => `${v.count}`], ['Date', (v) => when(v.dueAt), 'nowrap'],
        ['Line', (v) => v.rawLine && h('code', {}, v.rawLine), 'wide']], verdicts, { key: (v) => `${v.id}`, nothing: 'The agent has reported no fault.' })),
      h('section', { key: 'checks' }, h('h2', {}, 'Checks'),
        table([['Check', (c) => c.name], ['Result', (c) => badge(c.result)], ['Why', (c) => c.why], ['Since', (c) => ago(c.since)]], machine.checks ?? [],
        { key: (c) => c.name, nothing: 'The agent has not reported its checks yet.' }),
        checks.length > 0 && [h('h3', {}, 'Deep checks'),
          table([['Check', (c) => link(path('checks', c.id), c.profile)], ['State', (c) => badge(c.state)],
          ['Tests', (c) => `${c.passed} of ${c.total} passed`], ['Detail', (c) => c.detail], ['When', (c) => ago(c.createdAt)]], checks,
          { key: (c) => c.id })]),
      h('details', { key: 'text' }, h('summary', {}, 'All of it in sentences, as hpctl node explain says it'), h('pre', { id: 'explanation' }, said.text)),
      same(`hpctl node explain ${view.name} --cluster ${view.cluster}`, `GET ${at}/explanation`),
    ];
  },
};
