// The programs under test, and how a machine of the local provider starts its agent.
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const root = fileURLToPath(new URL('../../..', import.meta.url)).replace(/\/$/, '');

const program = (name, variable) => process.env[variable] ?? join(root, 'build', name);
export const hpdPath = program('hpd', 'HPD');
export const hpctlPath = program('hpctl', 'HPCTL');
export const agentPath = program('hp-agent', 'HP_AGENT');
export const hprunPath = program('hprun', 'HPRUN');

export const agentService = {
  name: 'hp-agent',
  command: [agentPath, '--server', '{server}', '--fingerprint', '{fingerprint}', '--state-dir', '{dir}/agent', '--node', '{node}', '--instance-id', '{instance}', '--token-file', '{tokenFile}', '--kmsg', '{kmsg}', '--boot-id-file', '{bootIdFile}', '--checks', 'none', '--config-dir', '{dir}/ml', '--allow-inject'],
};
