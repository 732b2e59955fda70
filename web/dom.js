// Elements from data. Text is only ever text: whatever a reason, a log line or a name contains is shown and never run.
export function h(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith('on')) element.addEventListener(key.slice(2), value);
    else if (value !== undefined && value !== false) element.setAttribute(key, value === true ? '' : value);
  }
  element.append(...children.flat(Infinity).filter((child) => child !== undefined && child !== null && child !== false && child !== ''));
  return element;
}

export const link = (hash, text) => h('a', { href: hash }, text);
export const path = (...parts) => `#/${parts.map(encodeURIComponent).join('/')}`;

const COLOURS = {
  healthy: 'good', ready: 'good', 'in-service': 'good', succeeded: 'good', passed: 'good', ok: 'good',
  unhealthy: 'bad', failed: 'bad', error: 'bad', critical: 'bad', held: 'warn', repairing: 'warn', warn: 'warn', unknown: 'warn', failing: 'bad', stopped: 'bad',
};
export const word = (text) => (text ? h('span', { class: COLOURS[text] }, text) : undefined);

// "3m12s ago", with the whole time for whoever points at it.
export function ago(time) {
  if (!time) return undefined;
  const s = Math.max(0, Math.round((Date.now() - Date.parse(time)) / 1000));
  const said = s < 60 ? `${s}s` : s < 3600 ? `${Math.floor(s / 60)}m${s % 60}s` : s < 86400 ? `${Math.floor(s / 3600)}h${Math.floor((s % 3600) / 60)}m` : `${Math.floor(s / 86400)}d${Math.floor((s % 86400) / 3600)}h`;
  return h('time', { datetime: time, title: time }, `${said} ago`);
}

// columns: [title, row => child]; nothing is said in words.
export function table(columns, rows, nothing) {
  if (rows.length === 0) return h('p', { class: 'quiet' }, nothing);
  return h('div', { class: 'table' }, h('table', {},
    h('thead', {}, h('tr', {}, columns.map(([title]) => h('th', { scope: 'col' }, title)))),
    h('tbody', {}, rows.map((row) => h('tr', {}, columns.map(([, cell]) => h('td', {}, cell(row) ?? '')))))));
}

export const facts = (pairs) => h('dl', {}, pairs.filter(([, value]) => value !== undefined && value !== '').map(([name, value]) => [h('dt', {}, name), h('dd', {}, value)]));
export const counts = (of) => Object.entries(of ?? {}).filter(([, n]) => n > 0).flatMap(([name, n], i) => [i > 0 ? ', ' : '', word(name), ` ${n}`]);
