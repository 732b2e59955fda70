// Keyboard and search: "/" finds pages, clusters, nodes and operations; "g" and a letter goes to a page; "?" lists the keys.
import { ask, maybe } from './api.js';
import { clusterPath, h, nodePath, patch, path } from './dom.js';
import { clusterNames, fleet } from './fleet.js';
import { LOOKS, lookOf, natural } from './looks.js';
import { NAV } from './pages.js';

const SHOWN = 12;

const pagesFound = () => NAV.map(({ hash, label }) => ({ hash, text: label, kind: 'page' }));
const operationFound = (words) => /^[0-9a-z-]{8,39}$/.test(words) ? [{ hash: path('operations', words), text: words, kind: 'operation' }] : [];

async function things(redraw, into) {
  for (const cluster of await clusterNames()) {
    into.push({ hash: clusterPath(cluster), text: cluster, kind: 'cluster' });
    const nodes = fleet(cluster);
    await nodes.fresh();
    for (const node of nodes.list()) into.push({ hash: nodePath(cluster, node.name), text: node.name, kind: `${LOOKS[lookOf(node)].label}, node of ${cluster}`,
      also: `${node.reason ?? ''} ${node.instanceId ?? ''}` });
    redraw();
  }
  const { items } = await maybe(ask('incidents?state=open'));
  for (const i of items) into.push({ hash: path('incidents', i.id), text: `${i.level} ${i.domain}`, kind: 'incident' });
  redraw();
}

function matches(all, words) {
  const low = words.toLowerCase();
  if (!low) return all.filter((one) => one.kind === 'page' || one.kind === 'cluster').slice(0, SHOWN);
  const score = ({ text, also }) => text.toLowerCase() === low ? 0 : text.toLowerCase().startsWith(low) ? 1 : text.toLowerCase().includes(low) ? 2 : also?.toLowerCase().includes(low) ? 3 : 9;
  return [...all.map((one) => [score(one), one]).filter(([s]) => s < 9).sort(([a, x], [b, y]) => a - b || natural(x.text, y.text)).slice(0,
    SHOWN).map(([, one]) => one), ...operationFound(low)];
}

export function openSearch(signedIn) {
  if (!signedIn() || document.querySelector('dialog[open]')) return;
  const all = pagesFound();
  let at = 0;
  let shown = [];
  const results = h('ul', { id: 'found', role: 'listbox', 'aria-label': 'Found' });
  const input = h('input', { type: 'search', role: 'combobox', 'aria-expanded': 'true', 'aria-controls': 'found',
    'aria-label': 'Search pages, clusters, nodes, operations', placeholder: 'Node, cluster, page, operation id', autocomplete: 'off',
    oninput: () => redraw(0), onkeydown: (event) => {
      if (event.key === 'ArrowDown' || event.key === 'ArrowUp') {
        event.preventDefault();
        redraw((at + (event.key === 'ArrowDown' ? 1 : shown.length - 1)) % Math.max(1, shown.length));
      } else if (event.key === 'Enter' && shown[at]) {
        event.preventDefault();
        dialog.close();
        location.hash = shown[at].hash;
      }
    } });
  function redraw(to = at) {
    at = to;
    shown = matches(all, input.value.trim());
    patch(results, shown.length ? shown.map(({ hash, text, kind }, i) => h('li', { role: 'option', id: `found-${i}`, 'aria-selected': i === at ? 'true' : 'false', onclick: () => {
      dialog.close();
      location.hash = hash;
    } }, h('strong', {}, text), h('span', { class: 'quiet' }, kind))) : [h('li',
      { class: 'quiet', role: 'option', 'aria-disabled': 'true', 'aria-selected': 'false' }, 'No match.')]);
    if (shown.length) input.setAttribute('aria-activedescendant', `found-${at}`);
    else input.removeAttribute('aria-activedescendant');
  }
  const dialog = h('dialog', { class: 'search', 'aria-label': 'Search' }, input, results);
  dialog.addEventListener('close', () => dialog.remove());
  dialog.addEventListener('click', (event) => event.target === dialog && dialog.close());
  document.body.append(dialog);
  dialog.showModal();
  input.focus();
  redraw(0);
  things(() => redraw(), all).catch(() => {});
}

function help() {
  const rows = [['/', 'search'], ['?', 'this list'], ...NAV.filter((n) => n.key).map((n) => [`g ${n.key}`, n.label]),
    ['arrow keys, Enter', 'in the fleet map: move, open the node'], ['Esc', 'close']];
  const dialog = h('dialog', { class: 'ask', 'aria-label': 'Keys' }, h('h2', {}, 'Keys'),
    h('dl', { class: 'facts' }, rows.map(([key, does]) => [h('dt', {}, h('kbd', {}, key)), h('dd', {}, does)])),
    h('div', { class: 'row end' }, h('button', { type: 'button', onclick: () => dialog.close() }, 'Close')));
  dialog.addEventListener('close', () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
}

export function keys(signedIn) {
  let goes = 0;
  addEventListener('keydown', (event) => {
    const typing = /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName) || document.querySelector('dialog[open]');
    if ((event.ctrlKey || event.metaKey) && event.key === 'k') {
      event.preventDefault();
      openSearch(signedIn);
    }
    if (typing || event.ctrlKey || event.metaKey || event.altKey || !signedIn()) return;
    if (event.key === '/') {
      event.preventDefault();
      openSearch(signedIn);
    } else if (event.key === '?') help();
    else if (event.key === 'g') goes = Date.now();
    else if (Date.now() - goes < 1500) {
      const to = NAV.find((n) => n.key === event.key);
      if (to) location.hash = to.hash;
      goes = 0;
    }
  });
}
