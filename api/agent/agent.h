/* What agents call. Messages are read by the strict pull parser; anything a correct agent would not send is refused. */
#ifndef HOLDFAST_API_AGENT_AGENT_H
#define HOLDFAST_API_AGENT_AGENT_H

#include "api/call.h"
#include "base/pull.h"

void agent_enroll(struct api_call *call);
void agent_report_spare(struct api_call *call);
void agent_heartbeat(struct api_call *call);
void agent_report_verdicts(struct api_call *call);
void agent_report_machine(struct api_call *call);
void agent_describe_work(struct api_call *call);
void agent_report_work(struct api_call *call);
void agent_describe_check(struct api_call *call);
void agent_report_check(struct api_call *call);
void agent_pair(struct api_call *call);

void agent_describe_settings(struct api_call *call);
void agent_report_settings(struct api_call *call);

/* Bits for members that were seen, so that a repeat is refused and a lack is noticed. */
void agent_once(struct pull *p, unsigned *seen, unsigned bit);
/* A member that is a text, where it goes, and its bit. */
struct agent_text {
    const char *name;
    unsigned bit;
    char *target;
    size_t size;
};
/* True when the name is one of the texts, which was then read. */
bool agent_text(struct pull *p, struct pull_view name, unsigned *seen, const struct agent_text *texts, size_t count);
/* True when the message was one whole object with at least these members; else the call is answered. */
bool agent_message_end(struct api_call *call, struct pull *p, unsigned seen, unsigned required);

#endif
