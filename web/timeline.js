// What happened, newest first: as a line of time with a mark for each kind.
import { h, link, nodeLink, clusterPath, path } from './dom.js';
import { ago, told, when } from './format.js';

const KINDS = [
  ['faults', '!', /^(verdict|agent-silent|node-health|incident|near-miss|injected|unreadable|clock)/],
  ['decisions', '→', /^(decision|approval|operator-request|breaker|policy|group-protected|group-unprotected)/],
  ['repairs', '↻', /^(operation|device-reset|instance|deep-check|lifecycle|agent-booted|agent-enrolled|node-state|rollout|group-|cluster-|capacity)/],
  ['jobs', '▤', /^(jobs|scheduler)/],
];
export const SORTS = [...KINDS.map(([sort]) => sort), 'other'];
export const sortOf = (kind) => KINDS.find(([, , pattern]) => pattern.test(kind))?.[0] ?? 'other';
const markOf = (event) => event.level === 'error' ? '✕' : event.kind === 'operation-succeeded' || (event.kind === 'node-state' && event.state === 'ready') ? '✓' : KINDS.find(([, ,
  pattern]) => pattern.test(event.kind))?.[1] ?? '·';

export const eventText = (e) => `${e.message}${e.failureMessage && !e.message.includes(e.failureMessage) ? ` (${e.failureMessage})` : ''}`;

// where: whether each says what it is about.
export function timeline(events, { where, nothing } = {}) {
  if (events.length === 0) return h('div', { class: 'empty' }, nothing);
  return h('ol', { class: 'timeline' }, events.map((e) => h('li', { key: `${e.id}`, class: `level-${e.level}`, 'data-kind': e.kind },
    h('span', { class: 'at' }, when(e.at)), h('span', { class: `mark ${{ error: 'bad', warn: 'warn' }[e.level] ?? 'quiet'}`, 'aria-hidden': 'true' }, markOf(e)),
    h('span', { class: 'text' }, where && [e.node ? nodeLink(e.cluster, e.node) : e.cluster && link(clusterPath(e.cluster),
      e.group ? `${e.cluster}/${e.group}` : e.cluster), (e.node || e.cluster) && ' '],
      h('span', { class: 'kind quiet' }, `${e.kind} `), told(eventText(e)), ' ',
        e.operation && e.kind === 'operation-started' && link(path('operations', e.operation), 'steps'), ' ', h('span', { class: 'quiet' }, ago(e.at))))));
}
