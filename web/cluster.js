// All clusters, and one with its nodes: a page of them at a time, however many there are.
import { ask, query, segment } from './api.js';
import { ago, counts, facts, h, link, path, table, word } from './dom.js';

const NODES = 100;

export const pauseBanner = (cluster) => cluster.pause && h('p', { class: 'banner' },
  `PAUSED by ${cluster.pause.by}${cluster.pause.reason ? `: ${cluster.pause.reason}` : ''}. Nothing is done to its nodes by itself until it is resumed.`);

const nodePath = (cluster, node) => path('clusters', cluster, 'nodes', node);

export async function overview() {
  const [clusters, incidents, approvals, webhooks, schedulers] = await Promise.all([
    ask('clusters'), ask('incidents?state=open'), ask('approvals?state=asked'), ask('webhooks'), ask('schedulers')]);
  const deaf = webhooks.items.filter((w) => w.state !== 'ok');
  const cards = clusters.items.map((c) => h('section', { class: 'card' }, h('h2', {}, link(path('clusters', c.name), c.name)), pauseBanner(c),
    facts([['State', word(c.state)], ['Failure', c.failureMessage], ['NodeRecovery', c.nodeRecovery], ['Nodes', `${c.nodeCount}`],
      ['By state', h('span', {}, counts(c.nodesByState))], ['By health', h('span', {}, counts(c.nodesByHealth))]])));
  return [
    h('h1', {}, 'Clusters'),
    approvals.items.length > 0 && h('p', { class: 'banner' }, link('#/approvals', `${approvals.items.length}${approvals.nextCursor ? ' or more' : ''} waiting for an approval`)),
    deaf.map((w) => h('p', { class: 'banner' }, `The webhook ${w.name} takes nothing: ${w.error}`)),
    incidents.items.map((i) => h('p', { class: 'banner' }, link(path('clusters', i.cluster), i.cluster), ` ${i.level} ${i.domain}: ${i.affected} of ${i.nodes} nodes, ${i.cause}, since `, ago(i.startedAt))),
    cards.length > 0 ? cards : h('p', { class: 'quiet' }, 'No clusters yet. Make one with: ', h('code', {}, 'hpctl cluster create -f FILE')),
    schedulers.items.length > 0 && [h('h2', {}, 'Schedulers'),
      table([['Scheduler', (s) => s.name], ['Kind', (s) => s.kind], ['State', (s) => word(s.state)], ['Seen', (s) => (s.seenAt ? ago(s.seenAt) : 'never')],
        ['Nodes', (s) => `${s.nodeCount ?? 'not known'}`], ['Clusters', (s) => s.clusters.join(', ')], ['Why', (s) => s.error]], schedulers.items, '')],
  ];
}

const choice = (name, label, values, now) => h('label', {}, label, h('select', { name }, h('option', { value: '' }, 'any'),
  values.map((v) => h('option', { value: v, selected: v === now }, v))));

const nodeColumns = (cluster) => [
  ['Node', (n) => link(nodePath(cluster, n.name), n.name)], ['Group', (n) => n.group], ['State', (n) => word(n.state)], ['Health', (n) => word(n.health)],
  ['Since', (n) => ago(n.stateSince)], ['Why', (n) => `${n.optedOut ? 'opted out. ' : ''}${n.reason ?? ''}`]];

// filter is the page's own memory: what was chosen stays chosen when the page is read again.
export async function cluster(name, filter) {
  const one = `clusters/${segment(name)}`;
  const wanted = { group: filter.group, state: filter.state, health: filter.health, limit: NODES };
  const [view, first] = await Promise.all([ask(one), ask(`${one}/nodes${query({ ...wanted, cursor: filter.cursor })}`)]);
  const shown = first.items.filter((n) => !filter.text || `${n.name} ${n.reason ?? ''}`.includes(filter.text));
  const groups = view.instanceGroups ?? [];
  const held = (g) => [g.breaker?.open && 'breaker open', g.protection?.on && 'protected', g.capacity?.short && 'no capacity', g.failureMessage].filter(Boolean).join('; ');
  const form = h('form', { onsubmit: (event) => {
    event.preventDefault();
    Object.assign(filter, Object.fromEntries(new FormData(event.target)), { cursor: '', before: [] });
    filter.again();
  } }, choice('group', 'Group', groups.map((g) => g.name), filter.group), choice('state', 'State', Object.keys(view.nodesByState ?? {}), filter.state),
  choice('health', 'Health', Object.keys(view.nodesByHealth ?? {}), filter.health),
  h('label', {}, 'Words, on this page', h('input', { name: 'text', value: filter.text ?? '' })), h('button', {}, 'Show'));
  const turn = (cursor, before) => () => {
    Object.assign(filter, { cursor, before });
    filter.again();
  };
  const past = filter.before ?? [];
  return [
    h('h1', {}, `Cluster ${name}`), pauseBanner(view),
    facts([['State', word(view.state)], ['Failure', view.failureMessage], ['NodeRecovery', view.nodeRecovery],
      ['Scheduler', view.scheduler && `${view.scheduler.name} (${view.scheduler.state})${view.scheduler.error ? `: ${view.scheduler.error}` : ''}`],
      ['Nodes', `${view.nodeCount}`], ['By state', h('span', {}, counts(view.nodesByState))], ['By health', h('span', {}, counts(view.nodesByHealth))]]),
    h('h2', {}, 'Groups'),
    table([['Group', (g) => g.name], ['State', (g) => word(g.state)], ['Nodes', (g) => [counts(g.nodesByState), ` of ${g.instanceCount}`]], ['What holds its repairs', held]], groups, 'No groups.'),
    h('h2', {}, 'At work'),
    table([['Node', (o) => (o.node ? link(nodePath(name, o.node), o.node) : 'all of it')], ['What', (o) => o.kind], ['State', (o) => word(o.state)], ['Why', (o) => o.reason], ['Asked by', (o) => o.actor], ['Since', (o) => ago(o.createdAt)]],
      view.activeOperations ?? [], 'Nothing is at work.'),
    h('h2', {}, `Needs a person${view.attentionTotal > (view.attention ?? []).length ? ` (the first of ${view.attentionTotal})` : ''}`),
    table(nodeColumns(name), view.attention ?? [], 'Nothing.'),
    h('h2', {}, 'Nodes'), form,
    table(nodeColumns(name), shown, 'No node is like that.'),
    h('p', {}, h('button', { type: 'button', disabled: past.length === 0, onclick: turn(past.at(-1) ?? '', past.slice(0, -1)) }, 'Back'), ' ',
      h('button', { type: 'button', disabled: !first.nextCursor, onclick: turn(first.nextCursor, [...past, filter.cursor ?? '']) }, 'Further')),
  ];
}
