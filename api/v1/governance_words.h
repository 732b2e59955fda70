/* The words of scheduler configurations and compute quotas in the REST API: which members there are, and what each may be. */
#ifndef HOLDFAST_API_V1_GOVERNANCE_WORDS_H
#define HOLDFAST_API_V1_GOVERNANCE_WORDS_H

#include "api/v1/tag.h"
#include "model/governance.h"
#include "model/governance_spec.h"

struct governance_config_words {
    bool given;
    struct governance_spec spec;
};
struct governance_target_words {
    bool given;
    char *team;
    struct optional weight;
};
struct governance_body {
    char *name, *description;
    struct governance_config_words config;
    struct governance_target_words target; /* of a quota */
    struct optional active;                /* of a quota */
    struct optional_list tags;             /* struct tag_words */
};
/* A new one of this kind, or a change of one. */
const struct record *governance_record(enum governance_kind kind, bool change);
void governance_body_free(struct governance_body *words); /* the contents */
static inline void auto_governance_body_cleanup(struct governance_body *words)
{
    governance_body_free(words);
}
/* What of these words is asked for, for a description that is shown. */
json_t *governance_show_config(enum governance_kind kind, const struct governance_spec *spec);

#endif
