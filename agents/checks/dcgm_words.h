/*
 * What DCGM's outputs have in common: how it numbers GPUs, and what its messages mean. Pure.
 */
#ifndef HOLDFAST_AGENTS_CHECKS_DCGM_WORDS_H
#define HOLDFAST_AGENTS_CHECKS_DCGM_WORDS_H

#include "base/json.h"
#include "model/limits.h"

#include <stddef.h>

#define DCGM_GPUS_MAX 64
#define DCGM_TEXT_BYTES_MAX 64
#define DCGM_MESSAGE_BYTES_MAX SENTENCE_MAX_BYTES

struct dcgm_gpu {
    int id;                      /* DCGM's own, which no other tool knows */
    char name[DEVICE_MAX_BYTES]; /* as the kernel log names it, "0000:b9:00" */
    char uuid[DCGM_TEXT_BYTES_MAX];
};

/* The table of `dcgmi discovery -l`. Returns how many GPUs with an address it holds. */
size_t dcgm_discovery_parse(const char *data, size_t len, struct dcgm_gpu ret_gpus[DCGM_GPUS_MAX]);
/* The name of an entity: a GPU's address where it is known, otherwise "GPU:3" or "Switch:1" and the like. */
void dcgm_entity_name(const struct dcgm_gpu *gpus, size_t count, const char *group, int id,
                      char name[DEVICE_MAX_BYTES]);

/* DCGM's number of the error that a message of its health watches or diagnostics tells, 0 when its words are not known. */
int dcgm_error_of(const char *message);
/* The code of a fault table for an error: by its number, else by its message. otherwise: for errors that nobody knows. */
void dcgm_code(int number, const char *message, const char *otherwise, char code[CODE_MAX_BYTES]);

/* The JSON in what a tool printed, with lines before and behind it. NULL when there is none. Caller frees. */
json_t *dcgm_json(const char *data, size_t len);
/* A text of a JSON document, cut; "" for anything else. */
void dcgm_text(const json_t *value, char *dst, size_t size);

#endif
