// Elements from data. Text is only ever text: whatever a reason, a log line or a name contains is shown and never run.
const HANDLERS = ['onclick', 'oninput', 'onchange', 'onsubmit', 'onkeydown'];

export const flat = (parts) => [parts].flat(Infinity).filter((part) => part !== undefined && part !== null && part !== false && part !== '');

// What machines and schedulers wrote may turn the direction of the text around it: that is shown as '?'.
const HIDDEN = /[\u0080-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]/g;
const SPOKEN = ['title', 'aria-label', 'alt'];
export const shown = (text) => String(text).replace(HIDDEN, '?');
const part = (child) => child instanceof Node ? child : document.createTextNode(shown(child));

// key: what makes it the same element the next time (patch). style: an object, as the page's policy refuses style attributes.
export function h(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (HANDLERS.includes(key)) element[key] = value;
    else if (key === 'style') Object.entries(value).forEach(([property, text]) => element.style.setProperty(property, text));
    else element.setAttribute(key === 'key' ? 'data-key' : key, value === true ? '' : SPOKEN.includes(key) ? shown(value) : value);
  }
  element.append(...flat(children).map(part));
  return element;
}

const keyOf = (node) => node.nodeType === Node.ELEMENT_NODE ? (node.getAttribute('data-key') ?? undefined) : undefined;
const alike = (have, want) => have.nodeName === want.nodeName && keyOf(have) === keyOf(want);

// What a person changes belongs to the person: whether it is open, and what stands in the field that is being used.
function patchAttributes(have, want) {
  const theirs = have === document.activeElement || have.hasAttribute('data-theirs');
  for (const { name } of [...have.attributes])
    if (!want.hasAttribute(name) && !(name === 'open' && have.nodeName === 'DETAILS') && name !== 'style') have.removeAttribute(name);
  for (const { name, value } of [...want.attributes]) {
    if (have.getAttribute(name) === value || name === 'style' || (name === 'open' && have.nodeName === 'DETAILS')) continue;
    have.setAttribute(name, value);
    if (name === 'value' && 'value' in have && !theirs) have.value = value;
  }
  if (have.style.cssText !== want.style.cssText) have.style.cssText = want.style.cssText;
  for (const handler of HANDLERS) have[handler] = want[handler];
  if (have.type === 'checkbox' && !theirs) have.checked = want.hasAttribute('checked');
}

function patchNode(have, want) {
  if (have.nodeType === Node.TEXT_NODE) {
    if (have.data !== want.data) have.data = want.data;
    return;
  }
  patchAttributes(have, want);
  if (want.hasAttribute('data-own')) return; // its children are somebody's own: the map's
  patchChildren(have, [...want.childNodes]);
  if (have.nodeName === 'SELECT' && have !== document.activeElement && have.value !== want.value) have.value = want.value;
}

function patchChildren(parent, wanted) {
  const keyed = new Map();
  const kept = new Set();
  for (const child of parent.childNodes) if (keyOf(child) !== undefined) keyed.set(keyOf(child), child);
  for (const want of wanted) if (keyed.has(keyOf(want)) && alike(keyed.get(keyOf(want)), want)) kept.add(keyed.get(keyOf(want)));
  for (const child of [...parent.childNodes]) if (keyOf(child) !== undefined && !kept.has(child)) child.remove();
  let at = parent.firstChild;
  for (const want of wanted) {
    const same = keyOf(want) !== undefined ? keyed.get(keyOf(want)) : at && alike(at, want) ? at : undefined;
    if (!same || !alike(same, want)) {
      parent.insertBefore(want, at);
      continue;
    }
    if (same === at) at = at.nextSibling;
    else parent.insertBefore(same, at);
    patchNode(same, want);
  }
  while (at) {
    const next = at.nextSibling;
    at.remove();
    at = next;
  }
}

// Makes the children of an element these, in place: focus, selection, scrolling and what is being typed stay.
export function patch(parent, parts) {
  const focused = document.activeElement;
  patchChildren(parent, flat(parts).map(part));
  if (focused && focused !== document.activeElement && focused.isConnected && parent.contains(focused)) focused.focus({ preventScroll: true });
}

export const link = (hash, ...text) => h('a', { href: hash }, ...text);
export const path = (...parts) => `#/${parts.map(encodeURIComponent).join('/')}`;
export const clusterPath = (name) => path('clusters', name);
export const nodePath = (cluster, node) => path('clusters', cluster, 'nodes', node);
export const nodeLink = (cluster, node) => cluster ? link(nodePath(cluster, node), node) : node;

// rows of [name, value]; a row without a value is left out.
export const facts = (rows) => h('dl', { class: 'facts' }, rows.filter(([, value]) => value !== undefined && value !== '' && value !== null && value !== false)
  .map(([name, value]) => [h('dt', {}, name), h('dd', {}, value)]));

// columns: [title, row => child, class]; on a phone a row becomes a card, and its cells say their titles.
export function table(columns, rows, { nothing, key, caption, rowClass } = {}) {
  if (rows.length === 0) return nothing ? h('div', { class: 'empty' }, nothing) : undefined;
  return h('div', { class: 'table' }, h('table', {}, caption && h('caption', {}, caption),
    h('thead', {}, h('tr', {}, columns.map(([title, , style]) => h('th', { scope: 'col', class: style }, title)))),
    h('tbody', {}, rows.map((row) => h('tr', { key: key?.(row), class: rowClass?.(row) }, columns.map(([title, cell, style]) => {
      const content = flat(cell(row));
      return h('td', { 'data-title': title, class: [style, content.length ? '' : 'none'].filter(Boolean).join(' ') || undefined }, h('div', {}, content));
    }))))));
}

// A person has typed it in: it stays until it is sent.
export const theirs = (event) => event.target.setAttribute('data-theirs', '');

export async function copy(text, button) {
  await navigator.clipboard?.writeText(text).catch(() => {});
  const before = button.textContent;
  button.textContent = 'copied';
  setTimeout(() => (button.textContent = before), 1200);
}

// The same by hpctl and by the API, at the foot of every page.
const way = (label, text) => h('div', { class: 'same', key: label }, h('span', { class: 'quiet' }, label), h('code', {}, text),
  h('button', { type: 'button', class: 'plain', 'aria-label': `Copy: ${text}`, onclick: (event) => copy(text, event.target) }, 'copy'));
export const same = (command, call) => h('section', { class: 'same-as', key: 'same-as', 'aria-label': 'The same elsewhere' }, way('hpctl', command), way('API', call));
