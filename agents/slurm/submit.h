/*
 * Whether what sbatch or salloc is given has a step with --auto-resume: then the job has to outlive its nodes. Nothing but libc, as it is
 * loaded into every sbatch.
 */
#ifndef HOLDFAST_AGENTS_SLURM_SUBMIT_H
#define HOLDFAST_AGENTS_SLURM_SUBMIT_H

#include <stdbool.h>
#include <stddef.h>

/* words: the command line as the kernel has it, each word with its zero. A word that has it counts (sbatch --wrap), and a script that
 * one of them names. */
bool resume_is_submitted(const char *words, size_t len);

#endif
