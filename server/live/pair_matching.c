/* Sessions in a list under one lock: there is one for each type of instance that is tested now, and mostly none. */
#include "server/live/pair_matching.h"

#include "base/clock.h"
#include "base/own.h"
#include "base/text.h"
#include "policy/pairs.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LOOK_AGAIN_MS (5 * MS_PER_S)    /* who else may come */
#define HERE_MS MS_PER_MIN              /* one who waits and was not heard for longer is no partner */
#define COMES_AGAIN_MS (5 * MS_PER_MIN) /* a partner, after a restart of this server */
#define LINGER_MS (20 * MS_PER_MIN)     /* the longest that anybody waits for others who may come */
#define SESSION_IDLE_MS (2 * MS_PER_HOUR)
#define PAUSE_MS MS_PER_S
#define PAUSE_MAX_MS (10 * MS_PER_S)
#define PAUSE_PER_MEMBER_MS 10

struct member {
    char name[NODE_NAME_MAX_BYTES], key[KEY_MAX_BYTES]; /* key "": others have told of it, and it has not come itself */
    char address[PEER_MAX_BYTES];
    int64_t port, limit_ms; /* of the longest match, by its tool */
    int64_t came_at, asked_at;
    bool busy;     /* it was given a match and has not said what came of it */
    bool replaced; /* by another run of the same node, or its run has ended */
    bool left;
    struct deep_pair_reply end; /* what it was told then */
};

struct match {
    char id[ID_UUID_MAX];
    size_t ends[2]; /* members; the first serves */
    struct {
        bool spoke;
        enum deep_pair_result result;
    } said[2];
    int64_t port; /* that the first offered when it was made: it offers another with each question */
    int64_t began_at;
    bool recalled; /* learned from one who took part: who has said nothing of it may have forgotten it */
};

struct session {
    struct session *next;
    char name[KEY_MAX_BYTES * 2];
    struct member *members;
    size_t member_count;
    struct match *matches;
    size_t match_count;
    int64_t looked_at, asked_at;
    size_t may_come;
};

struct pair_matching {
    pthread_mutex_t lock;
    struct session *sessions;
};

struct pair_matching *pair_matching_new(void)
{
    struct pair_matching *pair_matching = own_calloc(1, sizeof(*pair_matching));
    pthread_mutex_init(&pair_matching->lock, NULL);
    return pair_matching;
}

static void session_free(struct session *session)
{
    free(session->members);
    free(session->matches);
    free(session);
}

void pair_matching_free(struct pair_matching *pair_matching)
{
    if (pair_matching == NULL)
        return;
    for (struct session *next, *session = pair_matching->sessions; session != NULL; session = next) {
        next = session->next;
        session_free(session);
    }
    pthread_mutex_destroy(&pair_matching->lock);
    free(pair_matching);
}

/* --- sessions ------------------------------------------------------------------------------------------------ */

static bool is_over(const struct session *session, int64_t now_ms)
{
    for (size_t i = 0; i < session->member_count; i++)
        if (!session->members[i].replaced)
            return now_ms - session->asked_at > SESSION_IDLE_MS;
    return session->member_count > 0;
}

/* Made when it is not there; those that are over go. */
static struct session *session_of(struct pair_matching *pair_matching, const char *name, int64_t now_ms)
{
    for (struct session **at = &pair_matching->sessions; *at != NULL;) {
        struct session *session = *at;
        if (is_over(session, now_ms)) {
            *at = session->next;
            session_free(session);
        } else {
            if (text_equal(session->name, name))
                return session;
            at = &session->next;
        }
    }
    struct session *session = own_calloc(1, sizeof(*session));
    text_copy_cut(session->name, sizeof(session->name), name);
    session->asked_at = now_ms;
    session->looked_at = INT64_MIN / 2;
    session->next = pair_matching->sessions;
    pair_matching->sessions = session;
    return session;
}

static size_t add_member(struct session *session, const char *name)
{
    session->members = own_realloc(session->members, session->member_count + 1, sizeof(*session->members));
    session->members[session->member_count] = (struct member){.port = 0};
    text_copy_cut(session->members[session->member_count].name, NODE_NAME_MAX_BYTES, name);
    return session->member_count++;
}

static bool find_member(const struct session *session, const char *name, size_t *ret_member)
{
    for (size_t i = 0; i < session->member_count; i++)
        if (!session->members[i].replaced && text_equal(session->members[i].name, name)) {
            *ret_member = i;
            return true;
        }
    return false;
}

/* Another run of the same node is another member: what the first one found is of then. */
static size_t member_of(struct session *session, const char *name, const char *key, int64_t now_ms)
{
    size_t member;
    bool known = find_member(session, name, &member);
    if (known && session->members[member].key[0] != '\0' && !text_equal(session->members[member].key, key)) {
        session->members[member].replaced = true;
        known = false;
    }
    if (!known)
        member = add_member(session, name);
    if (session->members[member].key[0] == '\0') {
        text_copy_cut(session->members[member].key, KEY_MAX_BYTES, key);
        session->members[member].came_at = now_ms;
        session->may_come -= session->may_come > 0; /* until it is looked again */
    }
    return member;
}

bool pair_matching_asks_who(struct pair_matching *pair_matching, const char *session, int64_t now_ms)
{
    pthread_mutex_lock(&pair_matching->lock);
    bool asks = now_ms - session_of(pair_matching, session, now_ms)->looked_at >= LOOK_AGAIN_MS;
    pthread_mutex_unlock(&pair_matching->lock);
    return asks;
}

void pair_matching_expect(struct pair_matching *pair_matching, const char *session, const char *const *names,
                          size_t count, int64_t now_ms)
{
    pthread_mutex_lock(&pair_matching->lock);
    struct session *own = session_of(pair_matching, session, now_ms);
    own->looked_at = now_ms;
    own->may_come = 0;
    autofree bool *runs = own_calloc(own->member_count + 1, sizeof(*runs));
    for (size_t i = 0; i < count; i++) {
        size_t member;
        bool came = find_member(own, names[i], &member);
        if (came)
            runs[member] = true;
        own->may_come += !came || own->members[member].key[0] == '\0';
    }
    for (size_t i = 0; i < own->member_count; i++)
        own->members[i].replaced = own->members[i].replaced || !runs[i];
    pthread_mutex_unlock(&pair_matching->lock);
}

/* --- matches ------------------------------------------------------------------------------------------------- */

static struct match *find_match(const struct session *session, const char *id)
{
    for (size_t i = 0; i < session->match_count; i++)
        if (text_equal(session->matches[i].id, id))
            return &session->matches[i];
    return NULL;
}

static size_t count_matches(const struct session *session, size_t member)
{
    size_t count = 0;
    for (size_t i = 0; i < session->match_count; i++)
        count += session->matches[i].ends[0] == member || session->matches[i].ends[1] == member;
    return count;
}

static struct match *add_match(struct session *session, const char *id, size_t a, size_t b, int64_t now_ms)
{
    session->matches = own_realloc(session->matches, session->match_count + 1, sizeof(*session->matches));
    struct match *match = &session->matches[session->match_count++];
    *match = (struct match){.ends = {a, b}, .port = session->members[a].port, .began_at = now_ms};
    text_copy_cut(match->id, sizeof(match->id), id);
    return match;
}

static void take_said(struct session *session, size_t member, const struct deep_pair_said *said, int64_t now_ms)
{
    size_t partner;
    struct match *match = find_match(session, said->match);
    if (match == NULL && count_matches(session, member) >= DEEP_PAIRS_MAX)
        return; /* no agent remembers more */
    if (match == NULL) {
        if (!find_member(session, said->partner, &partner))
            partner = add_member(session, said->partner);
        if (partner == member)
            return;
        match = add_match(session, said->match, member, partner, now_ms);
        match->recalled = true;
    }
    for (int end = 0; end < 2; end++)
        if (match->ends[end] == member) {
            match->said[end].spoke = true;
            match->said[end].result = said->result;
        }
}

static bool is_here(const struct member *member, int64_t now_ms)
{
    return member->key[0] != '\0' && now_ms - member->asked_at <= (member->busy ? member->limit_ms : HERE_MS);
}

/* One end has spoken. Whoever remembers all its matches and not this one never took part in it; of one who has gone for good the
 * word of who was left says enough. */
static enum pairs_result one_sided(const struct session *session, const struct match *match, int spoke, int64_t now_ms)
{
    const struct member *other = &session->members[match->ends[1 - spoke]];
    bool failed = match->said[spoke].result == DEEP_PAIR_RESULT_FAILED;
    if (match->said[spoke].result == DEEP_PAIR_RESULT_VOID)
        return PAIRS_VOID;
    if (match->recalled && other->key[0] != '\0')
        return PAIRS_VOID;
    bool comes_again = !other->replaced && now_ms - match->began_at <= COMES_AGAIN_MS; /* else its run has ended */
    if (match->recalled)
        return comes_again ? PAIRS_OPEN : failed ? PAIRS_FAILED : PAIRS_PASSED;
    return is_here(other, now_ms) && !other->replaced ? PAIRS_OPEN : failed ? PAIRS_FAILED : PAIRS_VOID;
}

/* Both have to speak: one that fails is enough, one that says that it came to nothing takes it back. */
static enum pairs_result result_of(const struct session *session, const struct match *match, int64_t now_ms)
{
    const enum deep_pair_result a = match->said[0].result, b = match->said[1].result;
    if (match->said[0].spoke != match->said[1].spoke)
        return one_sided(session, match, match->said[0].spoke ? 0 : 1, now_ms);
    if (!match->said[0].spoke) {
        int64_t limit_ms = session->members[match->ends[0]].limit_ms;
        return now_ms - match->began_at > limit_ms + HERE_MS ? PAIRS_VOID : PAIRS_OPEN;
    }
    if (a == DEEP_PAIR_RESULT_VOID || b == DEEP_PAIR_RESULT_VOID)
        return PAIRS_VOID;
    return a == DEEP_PAIR_RESULT_FAILED || b == DEEP_PAIR_RESULT_FAILED ? PAIRS_FAILED : PAIRS_PASSED;
}

/* --- as the policy sees it ----------------------------------------------------------------------------------- */

struct snapshot {
    struct pairs_member *members;
    struct pairs_match *matches;
    struct pairs pairs;
};

static void snapshot_make(const struct session *session, int64_t now_ms, struct snapshot *ret_snapshot)
{
    struct snapshot p = {.members = own_calloc(session->member_count + 1, sizeof(*p.members)),
                         .matches = own_calloc(session->match_count + 1, sizeof(*p.matches))};
    for (size_t i = 0; i < session->member_count; i++) {
        const struct member *member = &session->members[i];
        p.members[i].busy = member->busy;
        p.members[i].left = member->left || member->replaced;
        p.members[i].here = is_here(member, now_ms);
    }
    for (size_t i = 0; i < session->match_count; i++)
        p.matches[i] = (struct pairs_match){.a = session->matches[i].ends[0],
                                            .b = session->matches[i].ends[1],
                                            .result = result_of(session, &session->matches[i], now_ms)};
    p.pairs = (struct pairs){p.members, session->member_count, p.matches, session->match_count};
    *ret_snapshot = p;
}

static void snapshot_free(struct snapshot *snapshot)
{
    free(TAKE(snapshot->members));
    free(TAKE(snapshot->matches));
}

static void begin_matches(struct session *session, struct id_source *ids, int64_t now_ms)
{
    struct snapshot snapshot;
    snapshot_make(session, now_ms, &snapshot);
    autofree struct pairs_match *next = own_calloc(session->member_count + 1, sizeof(*next));
    size_t count = pairs_next(&snapshot.pairs, next);
    for (size_t i = 0; i < count; i++) {
        char id[ID_UUID_MAX];
        id_uuid(ids, id);
        (void)add_match(session, id, next[i].a, next[i].b, now_ms);
    }
    snapshot_free(&snapshot);
}

/* --- answers ------------------------------------------------------------------------------------------------- */

static size_t partner_of(const struct pairs_match *match, size_t member)
{
    return match->a == member ? match->b : match->a;
}

/* Whether an earlier match of these two came to the same. */
static bool was_named(const struct snapshot *snapshot, size_t at, size_t member)
{
    const struct pairs_match *match = &snapshot->matches[at];
    for (size_t i = 0; i < at; i++) {
        const struct pairs_match *earlier = &snapshot->matches[i];
        bool own = earlier->a == member || earlier->b == member;
        if (own && earlier->result == match->result && partner_of(earlier, member) == partner_of(match, member))
            return true;
    }
    return false;
}

/* "failed with gpu-2, gpu-5", each once however often; "" when there is none. */
static void name_partners(const struct session *session, const struct snapshot *snapshot, size_t member,
                          enum pairs_result result, const char *verb, struct text *out)
{
    int count = 0;
    for (size_t i = 0; i < session->match_count; i++) {
        const struct pairs_match *match = &snapshot->matches[i];
        if (match->result != result || (match->a != member && match->b != member) || was_named(snapshot, i, member))
            continue;
        text_printf(out, "%s%s", count++ == 0 ? verb : ", ", session->members[partner_of(match, member)].name);
    }
}

static void say_end(const struct session *session, const struct snapshot *snapshot, size_t member,
                    enum pairs_verdict verdict, struct deep_pair_reply *reply)
{
    AUTO(text) struct text failed = {0}, passed = {0}, nothing = {0};
    name_partners(session, snapshot, member, PAIRS_FAILED, "failed with ", &failed);
    name_partners(session, snapshot, member, PAIRS_PASSED, "passed with ", &passed);
    name_partners(session, snapshot, member, PAIRS_VOID, "it came to nothing with ", &nothing);
    reply->word = verdict == PAIRS_ALONE && nothing.len > 0 ? DEEP_PAIR_WORD_NEXT : DEEP_PAIR_WORD_END;
    reply->state = verdict == PAIRS_GOOD     ? DEEP_STATE_PASSED
                   : verdict == PAIRS_BLAMED ? DEEP_STATE_FAILED
                                             : DEEP_STATE_SKIPPED;
    if (verdict == PAIRS_GOOD && failed.len > 0)
        snprintf(reply->detail, sizeof(reply->detail), "%.200s, and %.200s: that is no fault of this node",
                 text_get(&failed), text_get(&passed));
    else if (verdict == PAIRS_BLAMED)
        snprintf(reply->detail, sizeof(reply->detail), "%.300s, which passed with others", text_get(&failed));
    else if (verdict == PAIRS_INCONCLUSIVE)
        snprintf(reply->detail, sizeof(reply->detail),
                 "inconclusive: %.300s, and there were no two partners who passed with others: nobody is blamed",
                 text_get(&failed));
    else if (verdict == PAIRS_ALONE && nothing.len > 0)
        snprintf(reply->detail, sizeof(reply->detail), "nothing was found out: %.300s", text_get(&nothing));
    else if (verdict == PAIRS_ALONE)
        snprintf(reply->detail, sizeof(reply->detail),
                 "there was no other node of its type of instance to be tested with");
}

static void say_match(struct session *session, size_t member, const struct match *match, int64_t now_ms,
                      struct deep_pair_reply *reply)
{
    int end = match->ends[0] == member ? 0 : 1;
    const struct member *partner = &session->members[match->ends[1 - end]];
    reply->word = DEEP_PAIR_WORD_MATCH;
    reply->serves = end == 0;
    text_copy_cut(reply->match.match, sizeof(reply->match.match), match->id);
    text_copy_cut(reply->match.partner, sizeof(reply->match.partner), partner->name);
    text_copy_cut(reply->address, sizeof(reply->address), partner->address);
    reply->port = match->port;
    session->members[member].busy = true;
    session->members[member].asked_at = now_ms;
}

/* The match that it is to run and has said nothing of. */
static const struct match *own_match(const struct session *session, size_t member, int64_t now_ms)
{
    for (size_t i = 0; i < session->match_count; i++) {
        const struct match *match = &session->matches[i];
        for (int end = 0; end < 2; end++)
            if (match->ends[end] == member && !match->said[end].spoke && !match->recalled &&
                result_of(session, match, now_ms) == PAIRS_OPEN)
                return match;
    }
    return NULL;
}

static void answer(struct session *session, size_t member, int64_t settle_ms, struct id_source *ids, int64_t now_ms,
                   struct deep_pair_reply *reply)
{
    struct snapshot snapshot;
    int64_t waited_ms = now_ms - session->members[member].came_at;
    bool more_may_come = waited_ms < settle_ms || (session->may_come > 0 && waited_ms < LINGER_MS);
    snapshot_make(session, now_ms, &snapshot);
    enum pairs_verdict verdict = pairs_judge(&snapshot.pairs, member, more_may_come);
    if (verdict > PAIRS_STAY) {
        say_end(session, &snapshot, member, verdict, reply);
        session->members[member].left = true;
        session->members[member].end = *reply;
    }
    snapshot_free(&snapshot);
    if (verdict > PAIRS_STAY)
        return;
    begin_matches(session, ids, now_ms);
    const struct match *match = own_match(session, member, now_ms);
    if (match != NULL)
        say_match(session, member, match, now_ms, reply);
}

void pair_matching_answer(struct pair_matching *pair_matching, const struct pair_matching_node *node,
                          const struct deep_pair_ask *ask, struct id_source *ids, int64_t now_ms,
                          struct deep_pair_reply *ret_reply)
{
    *ret_reply = (struct deep_pair_reply){.word = DEEP_PAIR_WORD_WAIT, .state = DEEP_STATE_RUNNING};
    pthread_mutex_lock(&pair_matching->lock);
    struct session *session = session_of(pair_matching, node->session, now_ms);
    size_t at = member_of(session, node->name, ask->key, now_ms);
    for (size_t i = 0; i < ask->said_count; i++)
        take_said(session, at, &ask->said[i], now_ms);
    struct member *member = &session->members[at];
    session->asked_at = member->asked_at = now_ms;
    member->busy = false;
    member->port = ask->port;
    member->limit_ms = ask->limit_ms;
    text_copy_cut(member->address, sizeof(member->address), ask->address);
    int64_t pause = PAUSE_MS + (int64_t)session->member_count * PAUSE_PER_MEMBER_MS;
    ret_reply->pause_ms = pause < PAUSE_MAX_MS ? pause : PAUSE_MAX_MS;
    if (member->left)
        *ret_reply = member->end;
    else
        answer(session, at, node->settle_ms, ids, now_ms, ret_reply);
    pthread_mutex_unlock(&pair_matching->lock);
}
