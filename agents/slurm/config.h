/*
 * What hp-auto-resume is told by its site, in YAML. Users read the file, so its token is one of the role "job", which
 * may do nothing but report and ask about jobs.
 */
#ifndef HOLDFAST_AGENTS_SLURM_CONFIG_H
#define HOLDFAST_AGENTS_SLURM_CONFIG_H

#include "base/json.h"

#define RESUME_TEXT_MAX 1024

struct resume_config {
    char url[RESUME_TEXT_MAX], cluster[64];
    char token[256], token_file[RESUME_TEXT_MAX];            /* one of them; "": the other */
    char fingerprint[128], ca_file[RESUME_TEXT_MAX];         /* "": the system's authorities */
    char scontrol[RESUME_TEXT_MAX], salloc[RESUME_TEXT_MAX]; /* Slurm's programs; found in PATH */
    char scancel[RESUME_TEXT_MAX], squeue[RESUME_TEXT_MAX];
    int64_t poll_ms;        /* between two looks at a step that runs */
    int64_t diagnosis_ms;   /* for hpd to say what happened, or to be reached at all */
    int64_t replacement_ms; /* for a node that takes the broken one's place */
    int64_t progress_ms;    /* an attempt that ran so long made progress, where nobody said how it shows */
    int64_t stop_ms;        /* from SIGTERM to SIGKILL, for a step that makes way for a repair */
    int64_t attempts_max;
};

/* The whole text of the file. INVALID with a sentence that names what is wrong. */
int resume_config_parse(const char *data, size_t len, struct resume_config *ret_config, char ret_error[JSON_ERROR_MAX]);
/* Reads the file, and the token out of its own where it has one. */
int resume_config_read(const char *path, struct resume_config *ret_config, char ret_error[JSON_ERROR_MAX]);

#endif
