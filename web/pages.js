// Every page: its address, and its place in the navigation.
import { access } from './access.js';
import { approvals } from './approvals.js';
import { cluster } from './cluster.js';
import { scheduler, schedulers, webhooks } from './connections.js';
import { check, incident, operation } from './details.js';
import { create, edit } from './edit.js';
import { job } from './job.js';
import { audit, checks, events, incidents, jobs, operations } from './lists.js';
import { machine, machines } from './machines.js';
import { node } from './node.js';
import { overview } from './overview.js';
import { policy, policyVersion } from './policy.js';

const ROUTES = [
  ['/', overview],
  ['/approvals', approvals], ['/approvals/:id', approvals],
  ['/new', create], ['/clusters/:cluster', cluster], ['/clusters/:cluster/change', edit], ['/clusters/:cluster/nodes/:node', node],
  ['/jobs', jobs], ['/clusters/:cluster/jobs/:job', job],
  ['/incidents', incidents], ['/incidents/:id', incident],
  ['/operations', operations], ['/operations/:id', operation],
  ['/events', events], ['/checks', checks], ['/checks/:id', check], ['/audit', audit],
  ['/policy', policy], ['/policy/versions/:version', policyVersion],
  ['/schedulers', schedulers], ['/schedulers/:scheduler', scheduler], ['/webhooks', webhooks], ['/machines', machines], ['/machines/:machine', machine], ['/access', access],
];

export const NAV = [
  { hash: '#/', label: 'Clusters', key: 'c' },
  { hash: '#/approvals', label: 'Approvals', key: 'a', count: true },
  { hash: '#/incidents', label: 'Incidents', key: 'i' },
  { hash: '#/operations', label: 'Operations', key: 'o' },
  { hash: '#/jobs', label: 'Jobs', key: 'j' },
  { hash: '#/events', label: 'Events', key: 'e' },
  { hash: '#/checks', label: 'Checks', key: 'd' },
  { hash: '#/machines', label: 'Machines', key: 'm' },
  { hash: '#/policy', label: 'Policy', key: 'p' },
  { hash: '#/schedulers', label: 'Schedulers', key: 's' },
  { hash: '#/webhooks', label: 'Webhooks', key: 'w' },
  { hash: '#/access', label: 'Access', key: 't', role: 'admin' },
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
