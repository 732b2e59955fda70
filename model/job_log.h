/* What a job has written, as far as somebody asked for it: its last lines, or where the file with them lies. */
#ifndef HOLDFAST_MODEL_JOB_LOG_H
#define HOLDFAST_MODEL_JOB_LOG_H

#include "model/job.h"

#define JOB_LOG_LINES 200 /* where nobody says how many; of a node's logs, too */
#define JOB_LOG_LINES_MAX 5000
#define JOB_LOG_BYTES_MAX ((size_t)512 * 1024)
#define JOB_LOG_RANK_MAX 4095
#define JOB_LOG_PATH_MAX 1024
#define JOB_LOG_SOURCE_MAX 254
#define JOB_LOG_STAMP_MAX 40 /* "2026-11-20T15:02:11.620113541Z" */

struct job_log_ask {
    char scheduler[NAME_MAX_BYTES], job[JOB_ID_MAX_BYTES];
    int64_t rank, lines;
    bool previous;                 /* of the container that was there before */
    char after[JOB_LOG_STAMP_MAX]; /* only later lines: the time of the last one that is known; "": all */
};

struct job_log {
    char source[JOB_LOG_SOURCE_MAX]; /* what wrote it: the name of a pod; "": the job */
    char node[NODE_NAME_MAX_BYTES];  /* where that runs or ran; "": not known */
    char path[JOB_LOG_PATH_MAX];     /* of the file on that node; "": there is none */
    char *text;                      /* the last lines; NULL: only the place is known. Owned */
    char last[JOB_LOG_STAMP_MAX];    /* when the last line was written, by the clock of the node; "": not known */
    bool cut;                        /* earlier lines that were asked for are missing */
    int64_t read_at;
};

#endif
