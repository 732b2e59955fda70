/* Which of the claims on a node stops an act, by the table of claim.h; the first that does is the reason that people read. */
#include "policy/claim.h"

enum policy_claim policy_claim(enum policy_act act, const struct policy_claims *claims)
{
    static const struct policy_claims stops[] = {
#define X(name, opted_out, paused, external_drain, at_work, maintenance) \
    [POLICY_ACT_##name] = {opted_out, paused, external_drain, at_work, maintenance},
        POLICY_ACT_LIST(X)
#undef X
    };
    const struct policy_claims *stop = &stops[act];
    if (claims->opted_out && stop->opted_out)
        return POLICY_CLAIM_OPTED_OUT;
    if (claims->paused && stop->paused)
        return POLICY_CLAIM_PAUSED;
    if (claims->external_drain && stop->external_drain)
        return POLICY_CLAIM_EXTERNAL_DRAIN;
    if (claims->at_work && stop->at_work)
        return POLICY_CLAIM_AT_WORK;
    return claims->maintenance && stop->maintenance ? POLICY_CLAIM_MAINTENANCE : POLICY_CLAIM_NONE;
}
