// Every page: its address, and its place in the navigation.
import { approvals } from './approvals.js';
import { cluster } from './cluster.js';
import { check, incident, job, operation } from './details.js';
import { audit, checks, events, incidents, jobs, operations } from './lists.js';
import { node } from './node.js';
import { overview } from './overview.js';

const ROUTES = [
  ['/', overview],
  ['/approvals', approvals], ['/approvals/:id', approvals],
  ['/clusters/:cluster', cluster], ['/clusters/:cluster/nodes/:node', node],
  ['/clusters/:cluster/jobs', jobs], ['/clusters/:cluster/jobs/:job', job],
  ['/incidents', incidents], ['/incidents/:id', incident],
  ['/operations', operations], ['/operations/:id', operation],
  ['/events', events], ['/checks', checks], ['/checks/:id', check], ['/audit', audit],
];

export const NAV = [
  { hash: '#/', label: 'Clusters', key: 'c' },
  { hash: '#/approvals', label: 'Approvals', key: 'a', count: true },
  { hash: '#/incidents', label: 'Incidents', key: 'i' },
  { hash: '#/operations', label: 'Operations', key: 'o' },
  { hash: '#/events', label: 'Events', key: 'e' },
  { hash: '#/checks', label: 'Deep checks', key: 'd' },
  { hash: '#/audit', label: 'Audit', key: 'u', role: 'operator' },
];

const patterns = ROUTES.map(([pattern, view]) => [new RegExp(`^${pattern.replace(/:\w+/g, '([^/]+)')}$`), view]);
export function routeOf(where) {
  for (const [pattern, view] of patterns) {
    const match = pattern.exec(where);
    if (match) return { view, names: match.slice(1).map(decodeURIComponent) };
  }
  return undefined;
}
