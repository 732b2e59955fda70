// The lists of what happens: operations, incidents, events, jobs, deep checks, audit.
import { h, link, nodeLink, clusterPath, path } from './dom.js';
import { ago, duration, when } from './format.js';
import { badge } from './looks.js';
import { hasWords, listView, option } from './list.js';
import { SORTS, sortOf, timeline } from './timeline.js';

const clusterFilter = { name: 'cluster', label: 'Cluster', options: 'clusters' };
const nodeFilter = { name: 'node', label: 'Node', text: true, local: true, fits: hasWords('node') };
const clusterLink = (row) => row.cluster && link(clusterPath(row.cluster), row.cluster);
const clusterOf = (ctx, clusters) => ctx.query.cluster ?? clusters[0];
const took = (from, to) => from && to && duration(Date.parse(to) - Date.parse(from));

export const operations = listView({
  title: 'Operations', path: () => 'operations', key: (o) => o.id,
  wants: (ctx, e) => /^(operation|operator|rollout|group)/.test(e.kind),
  filters: [clusterFilter, { name: 'state', label: 'State', options: ['pending', 'running', 'succeeded', 'failed', 'cancelled'] },
    { name: 'kind', label: 'Kind', options: ['launch', 'reboot', 'replace', 'reset', 'release', 'delete', 'update', 'check', 'create-cluster', 'update-cluster',
      'update-software', 'delete-cluster'] }, nodeFilter],
  columns: () => [['Operation', (o) => link(path('operations', o.id), o.kind), 'nowrap'],
    ['On', (o) => (o.node ? nodeLink(o.cluster, o.node) : clusterLink(o)), 'nowrap'], ['State', (o) => badge(o.state)],
    ['Reason', (o) => [o.reason, o.error && h('span', { class: 'bad' }, ` ${o.error}`)]], ['Asked by', (o) => o.actor],
    ['Began', (o) => ago(o.createdAt), 'nowrap'], ['Took', (o) => took(o.startedAt ?? o.createdAt, o.finishedAt), 'nowrap']],
  nothing: [h('p', {}, h('strong', {}, 'No operation yet.')),
    h('p', {}, 'Launches, reboots, replacements and checks appear here with their steps. Start one from the page of a node.')],
  hpctl: (q) => `hpctl operation list${option('cluster', q.cluster)}${option('state', q.state)}${option('kind', q.kind)}`,
});

export const incidents = listView({
  title: 'Incidents', path: () => 'incidents', key: (i) => i.id, wants: (ctx, e) => e.kind.startsWith('incident'),
  intro: 'Many nodes of one chassis, rack, switch, UltraServer, power domain or zone that fail at once are one incident. None of them is repaired automatically while it is open.',
  filters: [clusterFilter, { name: 'state', label: 'State', options: ['open'] }],
  columns: () => [['Incident', (i) => link(path('incidents', i.id), `${i.level} ${i.domain}`), 'nowrap'], ['Cluster', clusterLink],
    ['State', (i) => badge(i.state, i.state === 'open' ? 'bad' : 'plain')], ['Cause', (i) => i.cause], ['Nodes', (i) => `${i.affected} of ${i.nodes} affected`],
    ['Began', (i) => ago(i.startedAt), 'nowrap'], ['Ended', (i) => i.endedAt && [ago(i.endedAt), ` (${i.endedBy ?? ''})`]]],
  nothing: [h('p', {}, h('strong', {}, 'No incident.')),
    h('p', {}, 'Incidents need to know what nodes share. Say it once: ', h('code', {}, 'hpctl node place gpu-1 rack=r7 switch=s3'))],
  hpctl: (q) => `hpctl incident list${option('cluster', q.cluster)}`,
});

const LAST = { hour: 3600000, day: 86400000, week: 7 * 86400000 };
const SINCE = { hour: '1h', day: '1d', week: '7d' };
export const events = listView({
  title: 'Events', path: () => 'events', key: (e) => e.id, wants: (ctx, e) => !ctx.query.cluster || e.cluster === ctx.query.cluster,
  filters: [clusterFilter, { name: 'level', label: 'Level, or above', options: ['warn', 'error'], ask: (minLevel) => ({ minLevel }) },
    { name: 'last', label: 'Of the last', options: Object.keys(LAST), ask: (last) => ({ since: new Date(Date.now() - LAST[last]).toISOString() }) },
    { name: 'sort', label: 'About', options: SORTS, local: true, fits: (e, sort) => sortOf(e.kind) === sort }, nodeFilter,
    { name: 'q', label: 'Words', text: true, local: true, placeholder: 'message or kind', fits: hasWords('message', 'kind', 'failureMessage') }],
  body: (rows) => timeline(rows, { where: true }),
  nothing: h('p', {}, 'Nothing has happened yet.'),
  hpctl: (q) => `hpctl event list${option('cluster', q.cluster)}${option('level', q.level)}${option('since', SINCE[q.last])}`,
});

export const jobs = listView({
  title: 'Jobs', key: (j) => j.id, wants: (ctx, e) => /^(jobs|scheduler|operation)/.test(e.kind),
  path: (ctx, clusters) => clusterOf(ctx, clusters) && `clusters/${encodeURIComponent(clusterOf(ctx, clusters))}/jobs`,
  filters: [{ ...clusterFilter, local: true, first: true, fits: () => true },
    { name: 'state', label: 'State', options: ['RUNNING', 'PENDING', 'COMPLETED', 'FAILED', 'NODE_FAIL', 'CANCELLED', 'TIMEOUT'], local: true,
    fits: (j, s) => j.state.startsWith(s) },
    { name: 'q', label: 'Words', text: true, local: true, placeholder: 'id, name, user, node',
    fits: hasWords('id', 'name', 'user', 'account', 'partition', 'nodes') }],
  columns: (ctx, clusters) => [['Job', (j) => link(path('clusters', clusterOf(ctx, clusters), 'jobs', j.id), j.id), 'nowrap'], ['Name', (j) => j.name],
    ['User', (j) => j.user], ['State', (j) => badge(j.state)], ['Nodes', (j) => [`${j.nodeCount}`, j.nodes && h('span', { class: 'quiet' }, ` ${j.nodes}`)]],
    ['Restarts', (j) => (j.restarts ? `${j.restarts}` : '')], ['Goodput', (j) => j.goodput?.share !== undefined && `${Math.round(j.goodput.share * 100)}%`],
    ['Reason', (j) => j.reason], ['Began', (j) => ago(j.startedAt), 'nowrap'], ['Ends by', (j) => when(j.endsBy), 'nowrap']],
  nothing: h('p', {}, 'The scheduler shows no job of this cluster. A cluster without a scheduler has none.'),
  hpctl: (q, clusters) => `hpctl job list${option('cluster', q.cluster ?? clusters[0])}`,
});

export const checks = listView({
  title: 'Deep checks', path: () => 'checks', key: (c) => c.id, wants: (ctx, e) => /deep-check|operation/.test(e.kind),
  filters: [clusterFilter, { name: 'state', label: 'State', options: ['waiting', 'running', 'passed', 'failed', 'skipped', 'cancelled'], local: true,
    fits: (c, s) => c.state === s }, nodeFilter],
  columns: () => [['Check', (c) => link(path('checks', c.id), `${c.profile} of ${c.node}`), 'nowrap'], ['Cluster', clusterLink],
    ['State', (c) => badge(c.state)],
    ['Tests', (c) => (c.total ? `${c.passed} of ${c.total} passed${c.failed ? `, ${c.failed} failed` : ''}${c.skipped ? `, ${c.skipped} skipped` : ''}` : '')],
    ['Detail', (c) => c.detail], ['Asked by', (c) => c.actor], ['Began', (c) => ago(c.createdAt), 'nowrap'], ['Took', (c) => took(c.startedAt, c.finishedAt)]],
  nothing: [h('p', {}, h('strong', {}, 'No deep check yet.')),
    h('p', {}, 'A deep check tests the hardware of an idle node under load. Start one on the page of a node, or for a group: ',
    h('code', {}, 'hpctl check start --group gpu'))],
  hpctl: (q) => `hpctl check list${option('cluster', q.cluster)}`,
});

export const audit = listView({
  title: 'Audit', role: 'operator', path: () => 'audit', key: (a) => `${a.id}`,
  filters: [clusterFilter, { name: 'outcome', label: 'Outcome', options: ['succeeded', 'refused', 'failed'] },
    { name: 'actor', label: 'Actor', text: true, placeholder: 'token:ann', local: true, fits: hasWords('actor') },
    { name: 'operation', label: 'Operation', text: true, placeholder: 'node.reboot', local: true, fits: hasWords('operation', 'resource') }],
  columns: () => [['When', (a) => when(a.at), 'nowrap'], ['Actor', (a) => a.actor ?? 'unknown'],
    ['Operation', (a) => [a.operation, a.count > 1 && ` ×${a.count}`]], ['On', (a) => [a.cluster, a.resource].filter(Boolean).join(' / ')],
    ['Outcome', (a) => [badge(a.outcome), a.code && ` ${a.code}`]], ['From', (a) => a.peer]],
  nothing: h('p', {}, 'No change was asked for yet. Each change and each refusal is kept here, with who asked and from where.'),
  hpctl: (q) => `hpctl audit list${option('cluster', q.cluster)}${option('outcome', q.outcome)}`,
});
export { took, clusterLink };
