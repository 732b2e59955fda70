// The stories where hpd speaks to Slurm by its programs, run here.
import { stories } from './story.mjs';

stories('here');
