// A person's answer to a repair that waits, in the words that hpd gives back.
import { post, segment } from './api.js';

export async function answer(id, yes, reason) {
  const done = await post(`operations/${segment(id)}/${yes ? 'approve' : 'reject'}`, reason ? { reason } : {});
  return `${done.node}: ${done.action} ${done.state}${done.waitsFor ? `. It waits: ${done.waitsFor}` : ''}`;
}
