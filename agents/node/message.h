/*
 * Writes and reads the messages between agent and server.
 */
#ifndef HOLDFAST_AGENTS_NODE_MESSAGE_H
#define HOLDFAST_AGENTS_NODE_MESSAGE_H

#include "agents/node/runner_list.h"
#include "agents/node/window.h"
#include "base/text.h"
#include "model/agent_settings.h"
#include "model/deep.h"
#include "model/hardware.h"
#include "model/model.h"

#include <stdbool.h>

#define CREDENTIAL_MAX_BYTES 128 /* "hfn_", a row number, ".", 43 characters */

/* All writers append to out. */
void message_write_enroll(struct text *out, const char *node, const char *instance_id, const char *boot_id);

/* Of a machine that waits to be used. trouble "": nothing is wrong. */
void message_write_spare(struct text *out, const char *machine, const char *boot_id, bool checked, const char *trouble);

struct message_heartbeat {
    const char *instance_id, *boot_id;
    int64_t seq, sent_at_ms;
    bool kmsg_covered;
    bool resets;           /* a GPU, if asked to */
    bool reboots;          /* this machine, if asked to */
    int64_t deep_checks;   /* that it could run: bits by enum deep_check */
    uint64_t settings_tag; /* of the group's settings that are in force here; 0: none */
    int64_t spooled;
    const char *address; /* NULL: not known */
};
void message_write_heartbeat(struct text *out, const struct message_heartbeat *heartbeat);

/* The complete machine report. */
void message_write_machine(struct text *out, const struct machine_report *report, int64_t sent_at_ms);

/* A report is opened, gets 1..VERDICTS_PER_POST_MAX verdicts, and is closed. */
void message_open_report(struct text *out, const char *instance_id, const char *boot_id, int64_t sent_at_ms);
void message_add_verdict(struct text *out, const struct verdict *verdict, bool first);
void message_close_report(struct text *out);

struct message_enrolled {
    int64_t node_id;
    char credential[CREDENTIAL_MAX_BYTES];
    int64_t heartbeat_interval_ms;
};
/* INVALID when the reply does not follow the protocol. */
int message_read_enrolled(const char *body, size_t len, struct message_enrolled *ret_enrolled);

struct message_spare {
    char state[16];
    int64_t wait_ms;                               /* asks again after so long */
    char machine_credential[CREDENTIAL_MAX_BYTES]; /* "": the one it has stays */
    char instance_id[ID_INSTANCE_MAX];             /* that it is from now on; "": it waits */
    char node[NODE_NAME_MAX_BYTES];
    struct message_enrolled enrolled;
};
int message_read_spare(const char *body, size_t len, struct message_spare *ret_spare);

struct message_orders {
    char inject[RAW_LINE_MAX_BYTES];           /* "" for none */
    char runners[RUNNER_COUNT][KEY_MAX_BYTES]; /* the order of each kind; "" for none */
    char settings
        [AGENT_SETTINGS_TAG_MAX_BYTES]; /* the tag of the group's settings; "": those of the agent are current */
    int64_t heartbeat_interval_ms;      /* 0: as before */
};
int message_read_orders(const char *body, size_t len, struct message_orders *ret_orders);

/* The code and the detail of a problem document; "" when the body is not one. */
struct message_problem {
    char code[KEY_MAX_BYTES];
    char detail[SENTENCE_MAX_BYTES];
};
void message_read_problem(const char *body, size_t len, struct message_problem *ret_problem);

/* A verdict on disk, with its instance, its boot and its reach. reach NULL: not stored. ret_reach is all zero for records without
 * one, as older versions wrote them. */
void message_write_record(struct text *out, const struct verdict *verdict, const struct reach *reach);
int message_read_record(const char *data, size_t len, struct verdict *ret_verdict, struct reach *ret_reach);

#endif
