// The timeline as it happens: server-sent events, read with fetch because an EventSource cannot send the token.
import { Refused, stream } from './api.js';

const SILENCE_MS = 50000; // hpd says something every 15 s
const AGAIN_MS = [1000, 2000, 5000, 10000];

function eventOf(block) {
  const data = block.split('\n').filter((line) => line.startsWith('data: ')).map((line) => line.slice(6)).join('\n');
  return data ? JSON.parse(data) : undefined;
}

async function read(signal, heard, onEvent) {
  const reply = await stream('events/stream', signal);
  if (!reply.ok) throw new Refused(reply.status, await reply.json().catch(() => undefined));
  const reader = reply.body.pipeThrough(new TextDecoderStream()).getReader();
  for (let rest = ''; ;) {
    const { done, value } = await reader.read();
    if (done) return;
    heard();
    const blocks = (rest + value).split('\n\n');
    rest = blocks.pop();
    blocks.map(eventOf).filter(Boolean).forEach(onEvent);
  }
}

// onState('live' | 'away'), onEvent(event). Returns what ends it.
export function follow(onEvent, onState) {
  let ended = false;
  let control;
  let timer;
  let misses = 0;
  const heard = () => {
    clearTimeout(timer);
    timer = setTimeout(() => control.abort(), SILENCE_MS);
    misses = 0;
    onState('live');
  };
  async function run() {
    control = new AbortController();
    try {
      await read(control.signal, heard, onEvent);
    } catch (error) {
      if (error.status === 401) ended = true;
    }
    clearTimeout(timer);
    if (ended) return;
    onState('away');
    timer = setTimeout(run, AGAIN_MS[Math.min(misses++, AGAIN_MS.length - 1)]);
  }
  run();
  return () => {
    ended = true;
    clearTimeout(timer);
    control.abort();
  };
}
