/* Names, and what both sources need. */
#include "agents/checks/nvidia_facts.h"

#include "base/own.h"
#include "base/text.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

_Static_assert(NVIDIA_VALUE_COUNT <= 64, "a bit of nvidia_gpu.unreadable each");

const char *nvidia_value_metric(enum nvidia_value value)
{
    static const char *const metrics[] = {
#define X(SYMBOL, metric, ...) metric,
        NVIDIA_VALUE_LIST(X)
#undef X
    };
    return metrics[value];
}

double nvidia_value_scale(enum nvidia_value value)
{
    static const double scales[] = {
#define X(SYMBOL, metric, type, help, scale, dcgm) scale,
        NVIDIA_VALUE_LIST(X)
#undef X
    };
    return scales[value];
}

const char *nvidia_value_dcgm(enum nvidia_value value)
{
    static const char *const names[] = {
#define X(SYMBOL, metric, type, help, scale, dcgm) dcgm,
        NVIDIA_VALUE_LIST(X)
#undef X
    };
    return names[value];
}

const char *nvidia_answer_text(enum nvidia_answer answer)
{
    static const char *const texts[] = {
#define X(SYMBOL, text) text,
        NVIDIA_ANSWER_LIST(X)
#undef X
    };
    return texts[answer];
}

struct nvidia_gpu *nvidia_add_gpu(struct nvidia_report *report)
{
    if (report->gpu_count == NVIDIA_GPUS_MAX)
        return NULL;
    struct nvidia_gpu *gpu = &report->gpus[report->gpu_count++];
    *gpu = (struct nvidia_gpu){0};
    for (size_t i = 0; i < NVIDIA_VALUE_COUNT; i++)
        gpu->values[i] = NAN;
    return gpu;
}

void nvidia_copy_clean(char *dst, size_t size, const char *src)
{
    text_copy_cut(dst, size, src);
    for (unsigned char *c = (unsigned char *)dst; *c != '\0'; c++) {
        if (*c < 0x20 || *c == 0x7f)
            *c = ' ';
        else if (*c == '"' || *c == '\\')
            *c = '\'';
        else if (c[0] == 0xc2 && c[1] >= 0x80 && c[1] < 0xa0) /* U+0080 to U+009F */
            c[0] = c[1] = '?';
    }
}

bool nvidia_pci_name(const char *text, size_t len, char name[DEVICE_MAX_BYTES])
{
    uint32_t part[4] = {0};
    size_t parts = 0, at = len >= 3 && strncasecmp(text, "GPU", 3) == 0 ? 3 : 0;
    size_t digits = 0;
    while (at < len && text[at] == ' ')
        at++;
    for (; at < len; at++) {
        int digit = text_hex_digit(text[at]);
        if (digit >= 0 && digits < 8) {
            part[parts] = part[parts] * 16 + (uint32_t)digit;
            digits++;
        } else if (digits > 0 && parts < 3 && text[at] == (parts < 2 ? ':' : '.')) {
            parts++;
            digits = 0;
        } else {
            return false;
        }
    }
    if (digits == 0 || parts < 2 || part[1] > 0xff || part[2] > 0x1f || part[3] > 7)
        return false;
    snprintf(name, DEVICE_MAX_BYTES, "%04" PRIx32 ":%02" PRIx32 ":%02" PRIx32, part[0], part[1], part[2]);
    return true;
}

void nvidia_link_down(struct nvidia_links *links, int number)
{
    size_t used = strlen(links->down);
    if (sizeof(links->down) - used > 8)
        snprintf(links->down + used, sizeof(links->down) - used, "%s%d", used > 0 ? ", " : "", number);
}
