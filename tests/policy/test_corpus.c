/*
 * The policy corpus: incidents from public reports (tests/corpus), through the real parsers and the real policy. Each is right (2),
 * acceptable (1) or neither (0), by its worst answer; what must never happen fails the test, unless tests/corpus/known.txt
 * lists it with a reason. The score by class is printed, and kept in docs/policy-corpus.md.
 *
 *   CORPUS=silence/rack- tests/policy/test_corpus      shows what was decided, and when, in those whose path holds this
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/policy/corpus_world.h"

#include <dirent.h>
#include <stdlib.h>

#define CORPUS_DIR "tests/corpus"
#define STORIES_MAX 1024
#define STORIES_AT_LEAST 300
#define CLASSES_MAX 32

struct result {
    int score;
    char never[256]; /* "": nothing that must never happen did */
    char missed[256];
};

/* --- judging -------------------------------------------------------------------------------------------------- */

static enum story_word word_at(const struct live_node *node, int64_t at, unsigned *ret_ever, int64_t *ret_repairs)
{
    enum story_word strong = STORY_NOTHING, last = STORY_NOTHING;
    *ret_ever = 0;
    *ret_repairs = 0;
    for (size_t i = 0; i < node->action_count && node->actions[i].at <= at; i++) {
        enum story_word word = node->actions[i].word;
        *ret_ever |= word > STORY_HOLD ? 1u << word : 0;
        *ret_repairs += word >= STORY_RESET;
        strong = word > STORY_HOLD ? word : strong;
        last = word;
    }
    enum story_word is = strong != STORY_NOTHING ? strong : last;
    *ret_ever |= 1u << is;
    return is;
}

static bool is_said(const struct live_node *node, int64_t at, const char *words)
{
    for (size_t i = 0; i < node->action_count && node->actions[i].at <= at; i++)
        if (strstr(node->actions[i].sentence, words) != NULL)
            return true;
    return false;
}

static void judge(const struct story *story, const struct story_want *want, const struct live_node *node,
                  struct result *result)
{
    int64_t at = CASE_NOW_MS + (want->at_end ? story->end_ms : LIVE_HOUR_MS), repairs;
    unsigned ever;
    enum story_word is = word_at(node, at, &ever, &repairs);
    const char *when = want->at_end ? "at the end" : "at 1 h";
    int score = (want->right >> is & 1) != 0 ? 2 : (want->fine >> is & 1) != 0 ? 1 : 0;
    if (want->said != NULL && score == 2 && !is_said(node, at, want->said))
        score = 1;
    if (score < result->score) {
        result->score = score;
        snprintf(result->missed, sizeof(result->missed), "%s: %s %s", node->of->name, story_word_text(is), when);
    }
    if ((want->never & ever) != 0 || repairs > want->most)
        snprintf(result->never, sizeof(result->never), "%s: %s %s, %d repairs", node->of->name, story_word_text(is),
                 when, (int)repairs);
    if (want->unsaid != NULL && is_said(node, at, want->unsaid))
        snprintf(result->never, sizeof(result->never), "%s: \"%s\" was said", node->of->name, want->unsaid);
    if (result->never[0] != '\0')
        result->score = 0;
}

/* Nodes to which nothing happens are left alone. */
static bool is_touched(const struct story *story, size_t node)
{
    bool touched = story->nodes[node].history_count > 0;
    for (size_t i = 0; i < story->item_count; i++)
        touched = touched || (story->items[i].nodes >> node & 1) != 0;
    return touched;
}

/* Who has no word of his own has the one for all; what a node has, the others' does not say. */
static const struct story_want *want_of(const struct story *story, size_t node, bool at_end)
{
    static const struct story_want leave[2] = {{.right = 1u << STORY_NOTHING,
                                                .fine = 1u << STORY_HOLD,
                                                .never = ~(1u << STORY_NOTHING | 1u << STORY_HOLD),
                                                .most = 0},
                                               {.right = 1u << STORY_NOTHING,
                                                .fine = 1u << STORY_HOLD,
                                                .never = ~(1u << STORY_NOTHING | 1u << STORY_HOLD),
                                                .most = 0,
                                                .at_end = true}};
    const struct story_want *found = is_touched(story, node) ? NULL : &leave[at_end];
    for (size_t i = 0; i < story->want_count; i++) {
        const struct story_want *want = &story->wants[i];
        if (want->at_end == at_end && (want->nodes == 0 ? found == NULL : (want->nodes >> node & 1) != 0))
            found = want;
    }
    return found;
}

static void show(const struct live *live, const char *path, const struct result *result)
{
    print_message("%s: %d%s%s%s%s\n", path, result->score, result->missed[0] != '\0' ? ", " : "", result->missed,
                  result->never[0] != '\0' ? ", NEVER " : "", result->never);
    for (size_t n = 0; n < live->story->node_count; n++)
        for (size_t i = 0; i < live->nodes[n].action_count; i++) {
            const struct live_action *action = &live->nodes[n].actions[i];
            print_message("  %s %4d min %s by %s: %s\n", live->nodes[n].of->name,
                          (int)((action->at - CASE_NOW_MS) / LIVE_MINUTE_MS), story_word_text(action->word),
                          decision_rule_text(action->rule), action->sentence);
        }
}

static bool live_one(const char *path, const char *dir, struct result *ret_result)
{
    static struct story story;
    char *data = NULL;
    size_t len = 0;
    *ret_result = (struct result){.score = 2};
    if (file_read(path, 262144, &data, &len) != 0 || !story_read(data, &story)) {
        print_error("%s: %s\n", path, story.error);
        free(data);
        return false;
    }
    struct live live;
    live_start(&live, &story, dir);
    live_to(&live, story.end_ms > LIVE_HOUR_MS ? story.end_ms + LIVE_TICK_MS : LIVE_HOUR_MS + LIVE_TICK_MS);
    for (size_t n = 0; n < story.node_count; n++)
        for (int at_end = 0; at_end < 2; at_end++) {
            const struct story_want *want = want_of(&story, n, at_end);
            if (want != NULL)
                judge(&story, want, &live.nodes[n], ret_result);
        }
    const char *wanted = getenv("CORPUS");
    if (wanted != NULL && strstr(path, wanted) != NULL)
        show(&live, path, ret_result);
    live_end(&live);
    free(data);
    file_remove_tree(dir);
    return true;
}

/* --- all of them -------------------------------------------------------------------------------------------------- */

static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static size_t find_stories(const char *dir, char **paths, size_t count)
{
    DIR *open = opendir(dir);
    for (struct dirent *entry; open != NULL && (entry = readdir(open)) != NULL;) {
        if (entry->d_name[0] == '.')
            continue;
        char *path = own_printf("%s/%s", dir, entry->d_name);
        if (text_ends_with(path, ".incident") && count < STORIES_MAX) {
            paths[count++] = path;
            continue;
        }
        if (strchr(entry->d_name, '.') == NULL)
            count = find_stories(path, paths, count);
        free(path);
    }
    if (open != NULL)
        closedir(open);
    return count;
}

struct class_score {
    char name[32];
    int stories, points, nevers;
};

static struct class_score *class_of(struct class_score *classes, const char *path)
{
    const char *name = path + sizeof(CORPUS_DIR);
    for (int i = 0; i < CLASSES_MAX; i++) {
        if (classes[i].name[0] == '\0')
            snprintf(classes[i].name, sizeof(classes[i].name), "%.*s", (int)strcspn(name, "/"), name);
        if (strncmp(classes[i].name, name, strlen(classes[i].name)) == 0 && name[strlen(classes[i].name)] == '/')
            return &classes[i];
    }
    return &classes[CLASSES_MAX - 1];
}

/* "class/name: why", one a line. */
static bool is_known(const char *known, const char *path)
{
    char name[200];
    const char *at = path + sizeof(CORPUS_DIR);
    snprintf(name, sizeof(name), "\n%.*s: ", (int)(strlen(at) - strlen(".incident")), at);
    return strstr(known, name) != NULL;
}

static void print_scores(const struct class_score *classes, int stories)
{
    struct class_score all = {.name = "all", .stories = stories};
    print_message("| class | incidents | points | of | never |\n|---|--:|--:|--:|--:|\n");
    for (int i = 0; i < CLASSES_MAX && classes[i].name[0] != '\0'; i++) {
        const struct class_score *c = &classes[i];
        print_message("| %s | %d | %d | %d | %d |\n", c->name, c->stories, c->points, 2 * c->stories, c->nevers);
        all.points += c->points;
        all.nevers += c->nevers;
    }
    print_message("| all | %d | %d | %d | %d |\n", stories, all.points, 2 * stories, all.nevers);
}

static void test_corpus(void **state)
{
    (void)state;
    static char *paths[STORIES_MAX];
    static struct class_score classes[CLASSES_MAX];
    size_t count = find_stories(CORPUS_DIR, paths, 0), len = 0;
    char dir[] = "/tmp/holdfast-corpus-XXXXXX";
    autofree char *list = NULL;
    assert_non_null(mkdtemp(dir));
    assert_int_equal(file_read(CORPUS_DIR "/known.txt", 65536, &list, &len), 0);
    autofree char *known = own_printf("\n%s", list);
    int bad = 0;
    qsort(paths, count, sizeof(paths[0]), by_text);
    for (size_t i = 0; i < count; i++) {
        struct result result;
        autofree char *own_dir = own_printf("%s/%zu", dir, i);
        if (!live_one(paths[i], own_dir, &result)) {
            bad++;
            continue;
        }
        struct class_score *class = class_of(classes, paths[i]);
        bool never = result.never[0] != '\0', listed = is_known(known, paths[i]);
        class->stories++;
        class->points += result.score;
        class->nevers += never;
        if (never && !listed)
            print_error("%s: must never happen: %s\n", paths[i], result.never);
        if (!never && listed)
            print_error("%s: is well now, take it off known.txt\n", paths[i]);
        if (!never && result.score < 2 && getenv("MISSED") != NULL)
            print_message("%s: %d, %s\n", paths[i], result.score, result.missed);
        bad += never != listed;
        free(paths[i]);
    }
    file_remove_tree(dir);
    print_scores(classes, (int)count);
    assert_true(count >= STORIES_AT_LEAST);
    assert_int_equal(bad, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_corpus)};
    return cmocka_run_group_tests_name("corpus", tests, NULL, NULL);
}
