/* Samples of whole directories: a file of tests/data whose lines are "path text", each a file below a machine's root. */
#ifndef HOLDFAST_TESTS_UNIT_AGENTS_TREE_H
#define HOLDFAST_TESTS_UNIT_AGENTS_TREE_H

#include "policy/faults/faults.h"
#include "tests/unit/agents/machine.h"

#include <stdio.h>

#define TREE_BYTES_MAX (256 * 1024)

/* As machine_file, ending with a line feed and without the wait for the disk: there are hundreds of them. */
static inline void tree_file(const struct machine *machine, const char *name, const char *text)
{
    autofree char *path = own_printf("%s%s", machine->root, name);
    autofree char *dir = own_strdup(path);
    *strrchr(dir, '/') = '\0';
    assert_int_equal(file_make_dirs(dir, 0755), 0);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fprintf(file, "%s\n", text) > 0);
    assert_int_equal(fclose(file), 0);
}

static inline void tree_grow(const struct machine *machine, const char *sample)
{
    autofree char *path = own_printf("tests/data/%s", sample), *data = NULL;
    size_t len, files = 0;
    char *save = NULL;
    assert_int_equal(file_read(path, TREE_BYTES_MAX, &data, &len), 0);
    for (char *line = strtok_r(data, "\n", &save); line != NULL; line = strtok_r(NULL, "\n", &save)) {
        char *space = strchr(line, ' ');
        assert_non_null(space);
        *space = '\0';
        tree_file(machine, line, space + 1);
        files++;
    }
    assert_true(files > 0);
}

static inline void tree_cut(const struct machine *machine, const char *name)
{
    autofree char *path = own_printf("%s%s", machine->root, name);
    assert_int_equal(file_remove_tree(path), 0);
}

/* Nothing but this one observation; NULL: none at all. */
static inline void tree_expect(struct machine *machine, const struct check *check, const char *code, const char *device)
{
    struct check_report report = machine_run(machine, check);
    if (report.observation_count > 0 && code == NULL)
        fail_msg("%s: %s", report.observations[0].code, report.observations[0].text);
    assert_int_equal(report.observation_count, code != NULL);
    assert_true(report.whole);
    if (code != NULL) {
        assert_string_equal(report.observations[0].code, code);
        assert_string_equal(report.observations[0].device, device);
        assert_non_null(fault_find(code));
    }
    report_free(&report);
}

#endif
