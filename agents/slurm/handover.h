/* What the plugin inside of srun and hp-auto-resume say to each other. */
#ifndef HOLDFAST_AGENTS_SLURM_HANDOVER_H
#define HOLDFAST_AGENTS_SLURM_HANDOVER_H

/* The plugin runs: HELPER CONF OPTION SRUN ARGV…, ARGV being srun's own from argv[0] on. */
#define RESUME_HANDOVER_ARGUMENTS 4

/* In the environment of an srun that is watched: the descriptor that takes "JOB STEP\n". */
#define RESUME_FD_VARIABLE "HOLDFAST_AUTO_RESUME_FD"

/* In the environment of each attempt, and so of its tasks: from 0. */
#define RESUME_ATTEMPT_VARIABLE "HOLDFAST_AUTO_RESUME_ATTEMPT"

#endif
