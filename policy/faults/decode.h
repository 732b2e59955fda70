/*
 * Inside the fault tables: what a line says beyond its code. Each decoder reads the detail (what follows the code; it
 * may hold any bytes), changes the judgement the row gave, and leaves a short note for the sentence.
 */
#ifndef HOLDFAST_POLICY_FAULTS_DECODE_H
#define HOLDFAST_POLICY_FAULTS_DECODE_H

#include "policy/faults/faults.h"

struct decode_detail {
    const char *text; /* not zero-terminated */
    size_t len;
};

#define DECODE_NOTE_MAX 160
struct decode_note {
    char text[DECODE_NOTE_MAX];
};
void decode_note(struct decode_note *note, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* A bucket of NVIDIA's catalog in words that complete "NVIDIA asks …": "to reset the GPU". Static; one that is not known as it
 * is. */
const char *decode_bucket(const char *bucket);

/* Small readers that never leave [text, text + len). Positions are offsets; len means "not there". */
size_t decode_find(const struct decode_detail *detail, size_t from, const char *word);
bool decode_has(const struct decode_detail *detail, const char *word);
/* "0x1f" at or after blanks and commas from *at; moves *at behind it. */
bool decode_hex(const struct decode_detail *detail, size_t *at, uint32_t *ret_value);
/* The decimal number right at *at; moves *at behind it. */
bool decode_decimal(const struct decode_detail *detail, size_t *at, uint32_t *ret_value);

/* "xid.79" with the prefix "xid." → 79. False for what is no such code. */
bool fault_code_number(const char *code, const char *prefix, int *ret_number);

/* NULL: the site says nothing about it. */
const struct fault_row *fault_override_find(const struct fault_scope *scope, const char *code);

void decode_recovery(const struct decode_detail *detail, struct fault_judgement *judgement,
                     struct decode_note *note); /* Xid 154 */
void decode_nvlink4(const struct decode_detail *detail, struct fault_judgement *judgement,
                    struct decode_note *note); /* Xid 74 */
void decode_nvlink5(const struct decode_detail *detail, struct fault_judgement *judgement,
                    struct decode_note *note); /* Xid 144–150 */
void decode_sxid(const struct decode_detail *detail, struct fault_judgement *judgement, struct decode_note *note);

#endif
