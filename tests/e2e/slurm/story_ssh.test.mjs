// The stories where hpd speaks to Slurm by its programs over SSH, by a real sshd.
import { stories } from './story.mjs';

stories('ssh');
