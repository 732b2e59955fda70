// The stories where hpd speaks to Slurm by a real slurmrestd.
import { stories } from './story.mjs';

stories('rest');
