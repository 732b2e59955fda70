// hpd's REST API: the token, one request, and what went wrong in its words. The token lives as long as the tab, and nowhere else.
const KEY = 'holdfast-token';

export const token = () => sessionStorage.getItem(KEY);
export const keepToken = (text) => sessionStorage.setItem(KEY, text);
export const forgetToken = () => sessionStorage.removeItem(KEY);

export class Refused extends Error {
  constructor(status, problem) {
    super(problem?.detail ?? problem?.title ?? `hpd answered with HTTP status ${status}.`);
    this.status = status;
  }
}

// Paths are relative, so that the console works behind a proxy that puts a path before hpd's.
export async function ask(path, { method = 'GET', body, signal } = {}) {
  let reply;
  try {
    reply = await fetch(`../v1/${path}`, {
      method,
      signal,
      headers: { Authorization: `Bearer ${token()}`, ...(body ? { 'Content-Type': 'application/json' } : {}) },
      body: body && JSON.stringify(body),
    });
  } catch (error) {
    if (error.name === 'AbortError') throw error;
    throw new Refused(0, { detail: 'hpd does not answer: it is stopped, or the network is. What is shown is what was last heard; it is tried again.' });
  }
  const text = await reply.text();
  const json = /json/.test(reply.headers.get('Content-Type') ?? '') ? JSON.parse(text) : undefined;
  if (!reply.ok) throw new Refused(reply.status, json);
  return json;
}

export const segment = encodeURIComponent;
export const query = (values) => {
  const given = Object.entries(values).filter(([, value]) => value);
  return given.length ? `?${given.map(([name, value]) => `${name}=${encodeURIComponent(value)}`).join('&')}` : '';
};
