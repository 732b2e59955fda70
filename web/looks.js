// How a node stands, in one word, a shape and a colour. The order is the order of what is wrong first.
import { h } from './dom.js';

export const LOOKS = {
  failed: { label: 'failed', glyph: '✕', tone: 'bad', says: 'A person is needed.' },
  unhealthy: { label: 'unhealthy', glyph: '!', tone: 'bad', says: 'In service, with an open fault, or down in its scheduler.' },
  held: { label: 'held', glyph: '‖', tone: 'warn', says: 'Out of scheduling, waiting.' },
  unknown: { label: 'health unknown', glyph: '?', tone: 'warn', says: 'Agent not seen, or its checks have not run.' },
  degraded: { label: 'degraded', glyph: '▲', tone: 'warn', says: 'In service with a warning.' },
  noted: { label: 'noted', glyph: '•', tone: 'note', says: 'In service, with a reason beside it, such as a drain by a person.' },
  repairing: { label: 'repairing', glyph: '↻', tone: 'work', says: 'An operation is at work.' },
  coming: { label: 'coming', glyph: '…', tone: 'work', says: 'A machine is starting, or is being checked.' },
  leaving: { label: 'leaving', glyph: '−', tone: 'quiet', says: 'Being deleted.' },
  ok: { label: 'in service', glyph: '', tone: 'good', says: 'Ready and healthy.' },
};
export const ORDER = Object.keys(LOOKS);
const RANK = new Map(ORDER.map((look, i) => [look, i]));
export const rank = (node) => RANK.get(lookOf(node));

const BY_STATE = { failed: 'failed', held: 'held', repairing: 'repairing', pending: 'coming', starting: 'coming', verifying: 'coming', deleting: 'leaving', deleted: 'leaving' };
export function lookOf(node) {
  if (BY_STATE[node.state]) return BY_STATE[node.state];
  if (node.health === 'healthy') return node.reason || node.optedOut ? 'noted' : 'ok';
  return node.health === 'unhealthy' || node.health === 'degraded' ? node.health : 'unknown';
}

const TONES = {
  healthy: 'good', ready: 'good', 'in-service': 'good', succeeded: 'good', passed: 'good', ok: 'good', up: 'good', done: 'good', approved: 'good', COMPLETED: 'good',
  unhealthy: 'bad', failed: 'bad', error: 'bad', critical: 'bad', down: 'bad', failing: 'bad', stopped: 'bad', open: 'bad', found: 'bad', FAILED: 'bad',
    NODE_FAIL: 'bad', rejected: 'bad', refused: 'bad',
  held: 'warn', warn: 'warn', unknown: 'warn', degraded: 'warn', cancelled: 'warn', expired: 'warn', asked: 'warn', 'rolling-back': 'warn', PENDING: 'warn', TIMEOUT: 'warn',
  repairing: 'work', running: 'work', pending: 'work', starting: 'work', verifying: 'work', creating: 'work', updating: 'work', 'system-updating': 'work',
    deleting: 'work', waiting: 'work', RUNNING: 'work',
};
const GLYPHS = { good: '✓', bad: '✕', warn: '!', work: '↻' };
// A state as a word with a shape beside it, so that colour is never alone.
export function badge(text, tone = TONES[text]) {
  if (!text) return undefined;
  return h('span', { class: `badge ${tone ?? 'plain'}` }, GLYPHS[tone] && h('span', { class: 'glyph', 'aria-hidden': 'true' }, GLYPHS[tone]),
    /^[a-z-]+$/.test(text) ? text.replaceAll('-', ' ') : text);
}
export function lookBadge(node) {
  const look = LOOKS[lookOf(node)];
  return h('span', { class: `badge ${look.tone}`, title: look.says }, h('span', { class: 'glyph', 'aria-hidden': 'true' }, look.glyph || '✓'), look.label);
}

export const natural = new Intl.Collator('en', { numeric: true }).compare;
// What is wrong first; nodes that are in the order of their names stay so within each look. Without comparing: there may be 10,000.
export function worstFirst(nodes) {
  const by = ORDER.map(() => []);
  for (const node of nodes) by[rank(node)].push(node);
  return by.flat();
}
