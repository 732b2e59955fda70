// A person's answer to a repair that waits, in the words that hpd gives back.
import { post, segment } from './api.js';
import { capital } from './format.js';

// 'Reset', 'Reboot', 'Replace'
export const verb = (approval) => capital(approval.action);

export async function answer(id, yes, reason) {
  const done = await post(`operations/${segment(id)}/${yes ? 'approve' : 'reject'}`, reason ? { reason } : {});
  return `${done.node}: ${done.action} ${done.state}${done.waitsFor ? `. It waits: ${done.waitsFor}` : ''}`;
}
