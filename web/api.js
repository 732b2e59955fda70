// hpd's REST API: the token, one request, all pages of a list, and what went wrong in hpd's words. The token lives as long as the tab.
const KEY = 'holdfast-token';

export const token = () => sessionStorage.getItem(KEY);
export const keepToken = (text) => sessionStorage.setItem(KEY, text);
export const forgetToken = () => sessionStorage.removeItem(KEY);

export class Refused extends Error {
  constructor(status, problem) {
    super(problem?.detail ?? problem?.title ?? `hpd answered with HTTP status ${status}.`);
    this.status = status;
    this.code = problem?.code;
  }
}

const AWAY = 'hpd does not answer. The page shows what was last read. Check that hpd runs: systemctl status hpd.';

async function send(path, { method, body, signal, headers } = {}) {
  try {
    // Relative, so that the console works behind a proxy that puts a path before hpd's.
    return await fetch(`../v1/${path}`, { method, signal, body: body && JSON.stringify(body),
      headers: { Authorization: `Bearer ${token()}`, ...(body ? { 'Content-Type': 'application/json' } : {}), ...headers } });
  } catch (error) {
    if (error.name === 'AbortError') throw error;
    throw new Refused(0, { detail: AWAY });
  }
}

export async function ask(path, options = {}) {
  const reply = await send(path, options);
  const text = await reply.text();
  const json = /json/.test(reply.headers.get('Content-Type') ?? '') ? JSON.parse(text) : undefined;
  if (!reply.ok) throw new Refused(reply.status, json);
  return json;
}

export const post = (path, body = {}) => ask(path, { method: 'POST', body });

// What may be missing without harm to the page: its error takes its place.
export const maybe = (promise) => promise.catch((error) => {
  if (error.status === 401 || error.name === 'AbortError') throw error;
  return { items: [], error: error.message };
});

export const segment = encodeURIComponent;
export const query = (values) => {
  const given = Object.entries(values).filter(([, value]) => value !== undefined && value !== '' && value !== false);
  return given.length ? `?${given.map(([name, value]) => `${name}=${encodeURIComponent(value)}`).join('&')}` : '';
};

// Pages of a list until enough were read; each(items) sees them as they come.
export async function pages(path, values, enough = Infinity, each = () => {}) {
  const items = [];
  for (let cursor = ''; ;) {
    const page = await ask(`${path}${query({ ...values, cursor })}`);
    items.push(...page.items);
    each(page.items);
    if (!page.nextCursor || items.length >= enough) return { items, more: Boolean(page.nextCursor) };
    cursor = page.nextCursor;
  }
}

export const stream = (path, signal) => send(path, { signal, headers: { Accept: 'text/event-stream' } });
