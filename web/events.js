// The timeline, newest first; while the page is open, what is new comes by itself.
import { ask } from './api.js';
import { ago, h, link, path, table, word } from './dom.js';

const where = (e) => (e.node ? link(path('clusters', e.cluster, 'nodes', e.node), e.node) : e.group || (e.cluster ? link(path('clusters', e.cluster), e.cluster) : ''));

export const eventTable = (items, nothing) => table([
  ['When', (e) => ago(e.at)], ['Level', (e) => word(e.level)], ['What', (e) => e.kind], ['Where', where],
  ['', (e) => `${e.message}${e.failureMessage && !e.message.includes(e.failureMessage) ? ` (${e.failureMessage})` : ''}`]], items, nothing);

export async function events() {
  const { items } = await ask('events?limit=200');
  return [h('h1', {}, 'Events'), eventTable(items, 'Nothing has happened yet.')];
}
