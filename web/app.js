// The console: which page the address names, signing in, and keeping what is shown as it is in hpd.
import { ask, forgetToken, keepToken, maybe, query, token } from './api.js';
import { h, patch } from './dom.js';
import { forgetFleets, note, noteGap } from './fleet.js';
import { tick } from './format.js';
import { keys, openSearch } from './keys.js';
import { follow } from './live.js';
import { NAV, routeOf } from './pages.js';

const POLL_MS = 30000; // for what makes no event
const GAP_MS = 400;
const RANKS = ['job', 'viewer', 'operator', 'admin'];
const at = (id) => document.getElementById(id);
const [main, nav, live, trouble] = ['main', 'nav', 'live', 'trouble'].map(at);
const memories = new Map(); // by path: what a page remembers while the tab lives

let me; // {actor, role}
let page; // {view, ctx, data, address}
let turn = 0;
let due;
let endedAt = 0;
let tookMs = 0;
let stop;

function complain(text) {
  if (trouble.textContent !== text) trouble.textContent = text;
  trouble.hidden = text === '';
}

/* --- signing in -------------------------------------------------------------------------------------- */

function signIn(why) {
  stop?.();
  stop = page = me = undefined;
  turn++;
  clearTimeout(due);
  memories.clear();
  forgetFleets();
  for (const id of ['sign-out', 'nav', 'live', 'search', 'who']) at(id).hidden = true;
  complain(why);
  document.title = 'Sign in – Holdfast';
  const input = h('input', { id: 'token', type: 'password', autocomplete: 'off', required: true });
  main.replaceChildren(h('div', { class: 'sign-in' }, h('h1', {}, 'Sign in'), h('form', { onsubmit: (event) => {
    event.preventDefault();
    keepToken(input.value.trim());
    start();
  } }, h('label', { for: 'token' }, 'API token', input), h('button', { class: 'primary' }, 'Sign in')),
  h('p', { class: 'quiet' }, 'Create one: ', h('code', {}, 'hpctl token create --role viewer --name NAME'),
    '. The role operator may repair and approve. The first token is in admin.token of hpd\'s state directory. This tab keeps the token until it is closed.')));
  input.focus();
}

async function start() {
  if (!token()) return signIn('');
  try {
    me = await ask('version');
  } catch (error) {
    if (error.status !== 401 && error.status !== 403) {
      complain(error.message);
      due = setTimeout(start, 3000);
      return undefined;
    }
    forgetToken();
    return signIn(error.status === 401 ? 'This token is not valid, or not valid any more. Sign in with another.' : 'This token may not read. Sign in with a token of the role viewer, operator or admin.');
  }
  complain('');
  for (const id of ['sign-out', 'nav', 'live', 'search', 'who']) at(id).hidden = false;
  at('sign-out').title = `Signed in as ${me.actor}, ${me.role}`;
  at('who').textContent = `${me.actor.replace(/^token:/, '')} (${me.role})`;
  stop = follow(heard, (state) => {
    const before = live.dataset.state;
    live.dataset.state = state;
    if (before === 'away' && state === 'live') noteGap();
    if (before && before !== state) schedule();
    const text = state === 'live' ? 'live' : 'not live';
    if (live.textContent !== text) live.textContent = text;
    live.title = state === 'live' ? 'Changes appear as they happen.' : 'The event stream is interrupted. The page is read again every few seconds.';
  });
  open();
  return undefined;
}

/* --- the page ------------------------------------------------------------------------------------------ */

const parse = () => {
  const [where, words = ''] = (location.hash || '#/').slice(1).split('?');
  return { where: where.replace(/\/$/, '') || '/', query: Object.fromEntries(new URLSearchParams(words)) };
};
const address = (where, values) => `#${where}${query(values)}`;

function makeContext(where, names, values) {
  if (!memories.has(where)) memories.set(where, {});
  return {
    names, query: values, role: me.role, actor: me.actor, memory: memories.get(where),
    may: (role) => RANKS.indexOf(me.role) >= RANKS.indexOf(role),
    again: () => schedule(0),
    draw,
    // Filters stand in the address. What the view can show from what it has is shown at once.
    set(values) {
      page.ctx.query = Object.fromEntries(Object.entries({ ...page.ctx.query, ...values }).filter(([, value]) => value !== '' && value !== undefined));
      history.replaceState(null, '', address(where, page.ctx.query));
      draw();
      if (!page.view.local) schedule(150);
    },
  };
}

function drawNav() {
  const here = parse().where;
  patch(nav, NAV.filter(({ role }) => !role || RANKS.indexOf(me.role) >= RANKS.indexOf(role)).map(({ hash, label, count }) => {
    const current = hash === '#/' ? here === '/' || here.startsWith('/clusters') : `#${here}`.startsWith(hash);
    const waiting = count && nav.dataset.waiting !== '0' ? nav.dataset.waiting : undefined;
    return h('a', { href: hash, key: hash, 'aria-current': current ? 'page' : undefined }, label, waiting && h('span', { class: 'count' }, waiting));
  }));
}

// At most every two seconds, however many decisions are made.
let counting;
function countSoon() {
  counting ??= setTimeout(() => {
    counting = undefined;
    if (me) countWaiting();
  }, 2000);
}

async function countWaiting() {
  const { items, nextCursor } = await maybe(ask('approvals?state=asked&limit=100'));
  nav.dataset.waiting = `${items.length}${nextCursor ? '+' : ''}`;
  if (me) drawNav();
}

function draw() {
  if (!page?.drawn) return;
  const started = performance.now();
  patch(main, page.view.render(page.ctx, page.data));
  page.view.mount?.(page.ctx, main, page.data);
  for (const wide of main.querySelectorAll('.table')) if (wide.scrollWidth > wide.clientWidth) wide.tabIndex = 0; // the keyboard can scroll it
  performance.measure('console-draw', { start: started });
}

function cannot(error) {
  patch(main, [h('h1', {}, error.status === 403 ? 'Your role does not allow this page' : 'This cannot be shown'), h('p', {}, error.message),
    h('p', {}, h('a', { href: '#/' }, 'All clusters'))]);
}

async function read() {
  const mine = ++turn;
  const now = page;
  const started = Date.now();
  clearTimeout(due);
  try {
    const data = await now.view.load(now.ctx, (part) => {
      if (mine !== turn) return;
      Object.assign(now, { data: part, drawn: true });
      draw();
    });
    if (mine !== turn) return;
    Object.assign(now, { data, drawn: true });
    draw();
    complain('');
    document.title = `${now.view.title(now.ctx, data)} – Holdfast`;
    if (now.fresh) {
      now.fresh = false;
      scrollTo(0, now.ctx.memory.scroll ?? 0);
      main.focus({ preventScroll: true });
    }
  } catch (error) {
    if (mine !== turn) return;
    if (error.status === 401) {
      forgetToken();
      signIn('This token is not valid, or not valid any more. Sign in with another.');
      return;
    }
    if (!now.drawn) cannot(error);
    complain(error.message);
  }
  endedAt = Date.now();
  tookMs = endedAt - started;
  due = setTimeout(() => !document.hidden && read(), live.dataset.state === 'live' ? POLL_MS : 3000);
}

// Soon, and not more often than the page can be read: it is never busy for more than a third of the time.
function schedule(ms = 100) {
  if (!page || page.scheduled) return;
  const one = page;
  one.scheduled = true;
  setTimeout(() => {
    one.scheduled = false;
    if (one === page && !document.hidden) read();
  }, Math.max(ms, endedAt + Math.max(GAP_MS, 2 * tookMs) - Date.now()));
}

function heard(event) {
  note(event);
  if (['approval', 'decision', 'operation-started'].includes(event.kind)) countSoon();
  if (page && page.view.wants?.(page.ctx, event) !== false) schedule();
}

function open() {
  const { where, query: values } = parse();
  const found = routeOf(where);
  if (page?.where === where) {
    page.ctx.query = values;
    draw();
    if (!page.view.local) schedule(0);
    return;
  }
  if (page) page.ctx.memory.scroll = scrollY;
  const view = found?.view ?? { title: () => 'Not found', load: async () => ({}),
    render: () => [h('h1', {}, 'There is no such page.'), h('p', {}, h('a', { href: '#/' }, 'All clusters'))] };
  turn++;
  page = { view, where, ctx: makeContext(where, found?.names ?? [], values), fresh: true };
  patch(main, [h('p', { class: 'quiet', key: 'reading' }, 'Reading …')]);
  drawNav();
  countWaiting();
  read();
}

/* --- what is always there -------------------------------------------------------------------------------- */

const THEME = 'holdfast-theme';
function theme(name) {
  document.documentElement.dataset.theme = name;
  at('theme').textContent = { light: 'Light', dark: 'Dark' }[name] ?? 'System';
  at('theme').setAttribute('aria-label', `Colours: ${name}. Change`);
  page?.view.themed?.(page.ctx);
}
at('theme').addEventListener('click', () => {
  const next = { system: 'light', light: 'dark', dark: 'system' }[document.documentElement.dataset.theme] ?? 'system';
  if (next === 'system') localStorage.removeItem(THEME);
  else localStorage.setItem(THEME, next);
  theme(next);
});
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => page?.view.themed?.(page.ctx));
theme(localStorage.getItem(THEME) ?? 'system');

addEventListener('hashchange', () => (me ? open() : undefined));
document.addEventListener('visibilitychange', () => !document.hidden && page && schedule(0));
at('sign-out').addEventListener('click', () => {
  forgetToken();
  signIn('');
});
at('search').addEventListener('click', () => openSearch(() => me));
keys(() => me);
setInterval(() => tick(main), 1000);
start();
