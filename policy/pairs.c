/* All is counted anew from the matches each time: they are few, and what is not kept cannot go wrong. */
#include "policy/pairs.h"

#include "base/own.h"

#include <stdlib.h>

#define VOIDS_MAX 2     /* of the same two */
#define VOIDS_ALL_MAX 4 /* of one that came to nothing with whomever: more would not start either */
#define PARTNERS_MIN 2  /* that blame somebody, and that stay for others */

/* What the matches say of each member, and with whom they were. */
struct tally {
    int passed, failed, open, nothing;
    size_t first, count; /* of edges */
};
struct edge {
    size_t other;
    enum pairs_result result;
};
struct view {
    const struct pairs *pairs;
    struct tally *tallies;
    struct edge *edges;
};

static void take_end(struct view *view, size_t member, size_t other, enum pairs_result result)
{
    struct tally *tally = &view->tallies[member];
    tally->passed += result == PAIRS_PASSED;
    tally->failed += result == PAIRS_FAILED;
    tally->open += result == PAIRS_OPEN;
    tally->nothing += result == PAIRS_VOID;
    view->edges[tally->first + tally->count++] = (struct edge){other, result};
}

static void view_make(const struct pairs *pairs, struct view *ret_view)
{
    struct view view = {.pairs = pairs,
                        .tallies = own_calloc(pairs->member_count + 2, sizeof(*view.tallies)),
                        .edges = own_calloc(2 * pairs->match_count + 1, sizeof(*view.edges))};
    for (size_t i = 0; i < pairs->match_count; i++) { /* how many come behind */
        view.tallies[pairs->matches[i].a + 1].first++;
        view.tallies[pairs->matches[i].b + 1].first++;
    }
    for (size_t i = 1; i <= pairs->member_count; i++)
        view.tallies[i].first += view.tallies[i - 1].first;
    for (size_t i = 0; i < pairs->match_count; i++) {
        const struct pairs_match *match = &pairs->matches[i];
        take_end(&view, match->a, match->b, match->result);
        take_end(&view, match->b, match->a, match->result);
    }
    *ret_view = view;
}

static void view_free(struct view *view)
{
    free(TAKE(view->tallies));
    free(TAKE(view->edges));
}

/* The two are not tested with each other again. */
static bool were_tried(const struct view *view, size_t a, size_t b)
{
    const struct tally *tally = &view->tallies[a];
    int voids = 0;
    for (const struct edge *edge = view->edges + tally->first; edge < view->edges + tally->first + tally->count; edge++)
        if (edge->other == b) {
            if (edge->result != PAIRS_VOID)
                return true;
            voids++;
        }
    return voids >= VOIDS_MAX;
}

static bool is_there(const struct view *view, size_t member)
{
    return view->pairs->members[member].here && !view->pairs->members[member].left;
}

/* One who could be tried with it sooner or later. */
static bool has_somebody_left(const struct view *view, size_t member)
{
    for (size_t other = 0; other < view->pairs->member_count; other++)
        if (other != member && is_there(view, other) && !were_tried(view, member, other))
            return true;
    return false;
}

/* Of the partners that it failed with: how many have passed with others; or whether one may do so yet. */
static int count_good(const struct view *view, size_t member, bool *ret_may_grow)
{
    const struct tally *tally = &view->tallies[member];
    int good = 0;
    *ret_may_grow = false;
    for (size_t i = tally->first; i < tally->first + tally->count; i++) {
        size_t other = view->edges[i].other;
        if (view->edges[i].result != PAIRS_FAILED)
            continue;
        if (view->tallies[other].passed > 0)
            good++;
        else if (is_there(view, other) && (view->tallies[other].open > 0 || has_somebody_left(view, other)))
            *ret_may_grow = true;
    }
    return good;
}

/* --- who with whom ------------------------------------------------------------------------------------------- */

struct choice {
    const struct view *view;
    bool *taken;
    bool is_patient; /* who failed with two waits for how these come off before it takes up a third */
    struct pairs_match *matches;
    size_t count;
};

static const struct tally *tally_of(const struct choice *choice, size_t member)
{
    return &choice->view->tallies[member];
}

static bool is_free(const struct choice *choice, size_t member)
{
    return is_there(choice->view, member) && !choice->view->pairs->members[member].busy &&
           tally_of(choice, member)->open == 0 && !choice->taken[member];
}

static bool is_new(const struct choice *choice, size_t member)
{
    return tally_of(choice, member)->passed == 0 && tally_of(choice, member)->failed == 0;
}

static bool is_proven(const struct choice *choice, size_t member)
{
    return tally_of(choice, member)->passed > 0;
}

static bool needs_another(const struct choice *choice, size_t member)
{
    return tally_of(choice, member)->passed == 0;
}

static bool looks_for_another(const struct choice *choice, size_t member)
{
    bool may_grow = false;
    if (!is_free(choice, member) || !needs_another(choice, member))
        return false;
    if (choice->is_patient && tally_of(choice, member)->failed >= PARTNERS_MIN)
        (void)count_good(choice->view, member, &may_grow);
    return !may_grow;
}

/* The first that is free, is so, and was not tried with it. */
static bool match_with(struct choice *choice, size_t member, bool (*is_so)(const struct choice *, size_t))
{
    for (size_t other = 0; other < choice->view->pairs->member_count; other++) {
        if (other == member || !is_free(choice, other) || !is_so(choice, other) ||
            were_tried(choice->view, member, other))
            continue;
        choice->taken[member] = choice->taken[other] = true;
        choice->matches[choice->count++] = (struct pairs_match){.a = member, .b = other, .result = PAIRS_OPEN};
        return true;
    }
    return false;
}

/* Somebody who is at it now may prove good, and was not tried with it. */
static bool may_wait_for_better(const struct choice *choice, size_t member)
{
    const struct pairs *pairs = choice->view->pairs;
    for (size_t other = 0; other < pairs->member_count; other++) {
        bool busy = tally_of(choice, other)->open > 0 || choice->taken[other] || pairs->members[other].busy;
        if (other != member && busy && is_there(choice->view, other) && !were_tried(choice->view, member, other))
            return true;
    }
    return false;
}

static void choose(struct choice *choice)
{
    size_t count = choice->view->pairs->member_count;
    for (size_t i = 0; i < count; i++)
        if (is_free(choice, i) && is_new(choice, i))
            (void)match_with(choice, i, is_new);
    for (size_t i = 0; i < count; i++)
        if (looks_for_another(choice, i))
            (void)match_with(choice, i, is_proven);
    for (size_t i = 0; i < count; i++)
        if (looks_for_another(choice, i) && !may_wait_for_better(choice, i))
            (void)match_with(choice, i, needs_another);
}

static bool nothing_goes_on(const struct choice *choice)
{
    for (size_t i = 0; i < choice->view->pairs->member_count; i++)
        if (tally_of(choice, i)->open > 0 || choice->view->pairs->members[i].busy)
            return false;
    return choice->count == 0;
}

size_t pairs_next(const struct pairs *pairs, struct pairs_match *ret_matches)
{
    struct view view;
    autofree bool *taken = own_calloc(pairs->member_count + 1, sizeof(*taken));
    view_make(pairs, &view);
    struct choice choice = {.view = &view, .taken = taken, .is_patient = true, .matches = ret_matches};
    choose(&choice);
    if (nothing_goes_on(&choice)) { /* those who wait wait for each other */
        choice.is_patient = false;
        choose(&choice);
    }
    view_free(&view);
    return choice.count;
}

/* --- how it stands ------------------------------------------------------------------------------------------- */

/* As many of those who passed stay as there are who need somebody, and at least two; the first ones do. */
static bool is_needed(const struct view *view, size_t member, bool more_may_come)
{
    size_t in_need = 0, before = 0;
    for (size_t other = 0; other < view->pairs->member_count; other++) {
        if (!is_there(view, other))
            continue;
        in_need += view->tallies[other].passed == 0;
        before += other < member && view->tallies[other].passed > 0;
    }
    if (in_need == 0 && !more_may_come)
        return false;
    return before < (in_need > PARTNERS_MIN ? in_need : PARTNERS_MIN);
}

static enum pairs_verdict judge(const struct view *view, size_t member, bool more_may_come)
{
    const struct tally *own = &view->tallies[member];
    bool may_grow;
    if (own->open > 0)
        return PAIRS_WAIT;
    if (own->passed > 0)
        return is_needed(view, member, more_may_come) ? PAIRS_STAY : PAIRS_GOOD;
    if (count_good(view, member, &may_grow) >= PARTNERS_MIN)
        return PAIRS_BLAMED;
    if (own->failed == 0 && own->nothing >= VOIDS_ALL_MAX)
        return PAIRS_ALONE;
    if (more_may_come || may_grow || has_somebody_left(view, member))
        return PAIRS_WAIT;
    return own->failed > 0 ? PAIRS_INCONCLUSIVE : PAIRS_ALONE;
}

enum pairs_verdict pairs_judge(const struct pairs *pairs, size_t member, bool more_may_come)
{
    struct view view;
    view_make(pairs, &view);
    enum pairs_verdict verdict = judge(&view, member, more_may_come);
    view_free(&view);
    return verdict;
}
