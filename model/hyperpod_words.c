/* See hyperpod_words.h. Types and reasons are those that were seen in public; HyperPod's own table is not. */
#include "model/hyperpod_words.h"

#include "base/own.h"
#include "base/text.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

void hyperpod_fault_type(const char *code, bool replaces, char ret_type[HYPERPOD_WORD_MAX_BYTES])
{
    static const struct {
        const char *prefix, *part;
    } parts[] = {{"xid.", "Nvidia"},           {"sxid.", "Nvidia"},   {"dcgm.", "Nvidia"}, {"nvidia.", "Nvidia"},
                 {"kernel.nvidia.", "Nvidia"}, {"neuron.", "Neuron"}, {"efa.", "Efa"}};
    const char *part = "Node";
    for (size_t i = 0; i < ARRAY_LEN(parts); i++)
        if (text_starts_with(code, parts[i].prefix))
            part = parts[i].part;
    snprintf(ret_type, HYPERPOD_WORD_MAX_BYTES, "%sError%s", part, replaces ? "Terminate" : "Reboot");
}

void hyperpod_fault_reason(const char *code, char ret_reason[HYPERPOD_WORD_MAX_BYTES])
{
    size_t len = 0;
    bool begins = true;
    if (text_starts_with(code, "xid.")) {
        text_copy_cut(ret_reason, HYPERPOD_WORD_MAX_BYTES,
                      strcmp(code, "xid.79") == 0 ? "NvidiaGPUUnhealthy" : "XidHardwareFailure");
        return;
    }
    for (const char *at = code; *at != '\0' && len + 1 < HYPERPOD_WORD_MAX_BYTES; at++) {
        bool word = isascii((unsigned char)*at) && isalnum((unsigned char)*at);
        if (word)
            ret_reason[len++] = begins ? (char)toupper((unsigned char)*at) : *at;
        begins = !word;
    }
    ret_reason[len] = '\0';
    if (len == 0)
        text_copy_cut(ret_reason, HYPERPOD_WORD_MAX_BYTES, "Unknown");
}
