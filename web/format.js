// Times, durations and counts in words. Times are local, with their zone; the whole time in UTC is shown to whoever points at it.
import { h } from './dom.js';

export const plural = (count, noun, many = `${noun}s`) => `${count.toLocaleString('en')} ${count === 1 ? noun : many}`;
export const list = (words) => words.length < 2 ? words.join('') : `${words.slice(0, -1).join(', ')} and ${words.at(-1)}`;
export const capital = (text) => text && text[0].toUpperCase() + text.slice(1);
export const sentence = (text) => text && (/[.!?]$/.test(text) ? text : `${text}.`);

// 604000 -> "10m 4s"
export function duration(ms) {
  const s = Math.max(0, Math.round(ms / 1000));
  if (s < 60) return `${s}s`;
  if (s < 3600) return `${Math.floor(s / 60)}m ${s % 60}s`;
  if (s < 86400) return `${Math.floor(s / 3600)}h ${Math.floor((s % 3600) / 60)}m`;
  return `${Math.floor(s / 86400)}d ${Math.floor((s % 86400) / 3600)}h`;
}

const clock = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit', second: '2-digit', hourCycle: 'h23', timeZoneName: 'short' });
const day = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short' });
const year = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short', year: 'numeric' });

function local(at) {
  const date = new Date(at);
  const now = new Date();
  if (date.toDateString() === now.toDateString()) return clock.format(date);
  return `${(date.getFullYear() === now.getFullYear() ? day : year).format(date)} ${clock.format(date)}`;
}

const agoText = (at) => {
  const ms = Date.now() - Date.parse(at);
  return ms < -1500 ? `in ${duration(-ms)}` : `${duration(ms)} ago`;
};

// "3m 12s ago", which goes on by itself (tick), and "15:02:11 CET".
export const ago = (at) => at && h('time', { datetime: at, title: `${local(at)} · ${at}`, 'data-ago': '' }, agoText(at));
export const when = (at) => at && h('time', { datetime: at, title: `${agoText(at)} · ${at}` }, local(at));
export const since = (at) => at && h('time', { datetime: at, title: `${local(at)} · ${at}`, 'data-since': '' }, duration(Date.now() - Date.parse(at)));

// A text of hpd's in which times stand in UTC, with these times local.
export const told = (text) => (text ?? '').split(/(\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:\.\d+)?(?:Z| UTC))/).map((part,
  i) => (i % 2 ? when(part.replace(' UTC', 'Z').replace(' ', 'T')) : part));

export function tick(root) {
  for (const time of root.querySelectorAll('time[data-ago], time[data-since]')) {
    const at = time.getAttribute('datetime');
    const text = time.hasAttribute('data-ago') ? agoText(at) : duration(Date.now() - Date.parse(at));
    if (time.textContent !== text) time.textContent = text;
  }
}
