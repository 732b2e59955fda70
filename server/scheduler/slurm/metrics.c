/* The collected metrics and their text; see metrics.h. */
#include "server/scheduler/slurm/metrics.h"

#include "base/map.h"
#include "base/own.h"

#include <stdint.h>
#include <string.h>

#define ROWS_FIRST 16 /* capacity to begin with */

struct row {
    char *labels;
    double value;
};

struct family {
    struct row *rows;
    size_t count, capacity;
    struct map *by_labels; /* 1 + the row's number */
};

enum outcome { UNTOLD, FAILED, SUCCEEDED };

struct slurm_metrics {
    struct family families[SLURM_METRIC_COUNT];
    enum outcome outcomes[SLURM_COLLECTOR_COUNT];
};

static const struct {
    const char *name, *help;
    enum slurm_collector collector;
} kinds[] = {
#define X(symbol, name, collector, help) {name, help, SLURM_COLLECTOR_##collector},
#include "server/scheduler/slurm/metrics.def"
#undef X
};

static const char *const collectors[] = {
#define X(symbol, name) name,
    SLURM_COLLECTOR_LIST(X)
#undef X
};

const char *slurm_metric_name(enum slurm_metric metric)
{
    return kinds[metric].name;
}

struct slurm_metrics *slurm_metrics_new(void)
{
    return own_calloc(1, sizeof(struct slurm_metrics));
}

static void clear(struct family *family)
{
    for (size_t i = 0; i < family->count; i++)
        free(family->rows[i].labels);
    free(family->rows);
    map_free(family->by_labels);
    *family = (struct family){0};
}

void slurm_metrics_free(struct slurm_metrics *metrics)
{
    if (metrics == NULL)
        return;
    for (size_t i = 0; i < SLURM_METRIC_COUNT; i++)
        clear(&metrics->families[i]);
    free(metrics);
}

/* The row of these labels; a new one has the value 0. */
static struct row *row_of(struct family *family, const char *labels, bool *ret_new)
{
    if (family->by_labels == NULL)
        family->by_labels = map_new();
    uintptr_t number = (uintptr_t)map_get(family->by_labels, labels);
    *ret_new = number == 0;
    if (number != 0)
        return &family->rows[number - 1];
    if (family->count == family->capacity) {
        family->capacity = family->capacity == 0 ? ROWS_FIRST : 2 * family->capacity;
        family->rows = own_realloc(family->rows, family->capacity, sizeof(*family->rows));
    }
    family->rows[family->count] = (struct row){.labels = own_strdup(labels)};
    map_set(family->by_labels, labels, (void *)(uintptr_t)(family->count + 1));
    return &family->rows[family->count++];
}

void slurm_metrics_set(struct slurm_metrics *metrics, enum slurm_metric metric, const char *labels, double value)
{
    bool is_new;
    struct row *row = row_of(&metrics->families[metric], labels, &is_new);
    if (is_new)
        row->value = value;
}

void slurm_metrics_add(struct slurm_metrics *metrics, enum slurm_metric metric, const char *labels, double value)
{
    bool is_new;
    row_of(&metrics->families[metric], labels, &is_new)->value += value;
}

void slurm_label(struct text *t, const char *name, const char *value)
{
    text_printf(t, "%s%s=\"", t->len == 0 ? "" : ",", name);
    for (const char *c = value; *c != '\0'; c++) {
        if (*c == '\\' || *c == '"')
            text_add_char(t, '\\');
        text_add_char(t, *c == '\n' ? ' ' : *c);
    }
    text_add_char(t, '"');
}

void slurm_metrics_outcome(struct slurm_metrics *metrics, enum slurm_collector collector, bool succeeded)
{
    metrics->outcomes[collector] = succeeded ? SUCCEEDED : FAILED;
    for (size_t i = 0; i < SLURM_METRIC_COUNT && !succeeded; i++)
        if (kinds[i].collector == collector)
            clear(&metrics->families[i]);
}

static void head(struct text *t, const char *name, const char *help)
{
    text_printf(t, "# HELP %s %s\n# TYPE %s gauge\n", name, help, name);
}

char *slurm_metrics_render(const struct slurm_metrics *metrics)
{
    static const char success[] = "slurm_exporter_collector_success";
    AUTO(text) struct text t = {0};
    head(&t, success, "Whether Slurm said what this part is made of when it was asked last");
    for (size_t i = 0; i < SLURM_COLLECTOR_COUNT; i++)
        if (metrics->outcomes[i] != UNTOLD)
            text_printf(&t, "%s{collector=\"%s\"} %d\n", success, collectors[i], metrics->outcomes[i] == SUCCEEDED);
    for (size_t i = 0; i < SLURM_METRIC_COUNT; i++) {
        const struct family *family = &metrics->families[i];
        if (family->count > 0)
            head(&t, kinds[i].name, kinds[i].help);
        for (size_t row = 0; row < family->count; row++) {
            const char *labels = family->rows[row].labels;
            text_add(&t, kinds[i].name);
            if (labels[0] != '\0')
                text_printf(&t, "{%s}", labels);
            text_printf(&t, " %.15g\n", family->rows[row].value);
        }
    }
    return text_take(&t);
}
