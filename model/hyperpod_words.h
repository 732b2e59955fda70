/* Faults in the words that HyperPod has for them on a node and in the log of its agent. */
#ifndef HOLDFAST_MODEL_HYPERPOD_WORDS_H
#define HOLDFAST_MODEL_HYPERPOD_WORDS_H

#include <stdbool.h>

#define HYPERPOD_WORD_MAX_BYTES 64 /* a label's value */

/* "NvidiaErrorReboot"; replaces: another machine is what it asks for. */
void hyperpod_fault_type(const char *code, bool replaces, char ret_type[HYPERPOD_WORD_MAX_BYTES]);
/* HyperPod's word where it is known, else the code's: "dcgm.nvlink-down" is DcgmNvlinkDown. */
void hyperpod_fault_reason(const char *code, char ret_reason[HYPERPOD_WORD_MAX_BYTES]);

#endif
