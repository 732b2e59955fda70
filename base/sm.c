/* Asks and makes moves in a table of legal moves. */
#include "base/sm.h"

#include "base/status.h"
#include "base/text.h"

#include <stdio.h>

static bool is_state(const struct sm *sm, int state)
{
    return state >= 0 && state < sm->count;
}

bool sm_may(const struct sm *sm, int from, int to)
{
    return is_state(sm, from) && is_state(sm, to) && (sm->rows[from].next & SM_BIT(to)) != 0;
}

void sm_move(const struct sm *sm, int *state, int to)
{
    if (!sm_may(sm, *state, to)) {
        fprintf(stderr, "holdfast: %s may not move from %s to %s\n", sm->name, sm_text(sm, *state), sm_text(sm, to));
        abort();
    }
    *state = to;
}

int sm_parse(const struct sm *sm, const char *text, int *ret_state)
{
    for (int i = 0; text != NULL && i < sm->count; i++)
        if (text_equal(sm->rows[i].name, text)) {
            *ret_state = i;
            return 0;
        }
    return STATUS_INVALID;
}

const char *sm_text(const struct sm *sm, int state)
{
    return is_state(sm, state) && sm->rows[state].name != NULL ? sm->rows[state].name : "?";
}
