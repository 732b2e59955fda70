// The fleet as it was: the states of now, and the changes since then taken back, the newest first.
import { pages } from './api.js';

export const HOURS = 72;
const STEP_MINUTES = 5;
const CHANGES = 10000; // more than that are not read: what is older is not known

// {changes, newest first; from: the time from which all of them are known}
export async function readHistory(cluster) {
  const since = new Date(Date.now() - HOURS * 3600000).toISOString();
  const read = await Promise.all(['node-state', 'node-health'].map((kind) => pages('events', { cluster, kind, since, limit: 1000 }, CHANGES)));
  const cut = read.filter(({ more }) => more).map(({ items }) => items.at(-1).at);
  return { changes: read.flatMap(({ items }) => items).sort((a, b) => b.id - a.id), from: cut.sort().at(-1) ?? since };
}

export function nodesAt(nodes, { changes }, at) {
  const before = new Map();
  for (const change of changes) {
    if (change.at <= at) break;
    if (change.was) before.set(change.node, { ...before.get(change.node), [change.kind === 'node-state' ? 'state' : 'health']: change.was });
  }
  return nodes.map((node) => before.has(node.name) ? { ...node, reason: undefined, stateSince: undefined, retryAt: undefined, ...before.get(node.name) } : node);
}

// The place of a time on a slider that ends now, and the other way.
export const placeOf = (at) => at ? Math.round((Date.parse(at) - Date.now()) / (STEP_MINUTES * 60000)) : 0;
export const timeAt = (place) => (Number(place) === 0 ? '' : new Date(Date.now() + Number(place) * STEP_MINUTES * 60000).toISOString());
export const FIRST_PLACE = -(HOURS * 60) / STEP_MINUTES;
