/* What a step notes of the operation in hand. */
#include "server/reconcile/base/work.h"
#include "base/own.h"
#include "base/text.h"
#include "server/reconcile/base/node.h"

#include <stdarg.h>

void work_say(struct work *w, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    autofree char *text = own_vprintf(fmt, ap);
    va_end(ap);
    text_copy_cut(w->detail, sizeof(w->detail), text);
}

bool work_did(struct work *w, int status)
{
    if (w->status == 0 && status < 0)
        w->status = status;
    return w->status == 0;
}

void work_due(struct work *w, int64_t at)
{
    if (w->due_at == 0 || at < w->due_at)
        w->due_at = at;
}

bool work_has_scheduler(const struct work *w)
{
    return reconcile_node_has_scheduler(w->node);
}
