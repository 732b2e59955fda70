/*
 * The Xid table as data: xid.def, one line a code, made into rows here.
 */
#include "policy/faults/faults.h"

#define HOUR_MS INT64_C(3600000)

/* Raised with every change of a .def file; agents send it with each verdict. */
#define TABLE_VERSION "2026-11-20.1"

/* Columns: the rate fills three fields, folding two. */
#define NEVER 0, 0, ACTION_CLASS_IGNORE
#define RATE(times, hours, action) (times), (hours)*HOUR_MS, ACTION_CLASS_##action
#define PLAIN false, 0
#define SYMPATHETIC true, 0
#define CANCELS(code) false, (code)
#define XID(number, name, words, bucket, first_time, next_time, when, level, rate, folding, who)                   \
    {number,           name, words,   bucket, ACTION_CLASS_##first_time, ACTION_CLASS_##next_time, URGENCY_##when, \
     SEVERITY_##level, rate, folding, who},

static const struct fault_xid rows[] = {
#include "policy/faults/xid.def"
};

const char *fault_table_version(void)
{
    return TABLE_VERSION;
}

const struct fault_xid *fault_xid_find(int code)
{
    size_t low = 0, high = sizeof(rows) / sizeof(rows[0]);
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (rows[middle].code == code)
            return &rows[middle];
        if (rows[middle].code < code)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

const struct fault_xid *fault_xid_all(size_t *ret_count)
{
    *ret_count = sizeof(rows) / sizeof(rows[0]);
    return rows;
}
