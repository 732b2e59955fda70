/* A file in a directory of its own, which goes with the test. */
#ifndef HOLDFAST_TESTS_UNIT_AGENTS_PLACE_H
#define HOLDFAST_TESTS_UNIT_AGENTS_PLACE_H

#include "base/file.h"
#include "base/own.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

struct place {
    char dir[32];
    char *path; /* of the file, which is not there yet */
};

static inline int make_place(void **state)
{
    struct place *place = own_calloc(1, sizeof(*place));
    *place = (struct place){.dir = "/tmp/holdfast-agent-XXXXXX"};
    if (mkdtemp(place->dir) == NULL)
        return -1;
    place->path = own_printf("%s/file", place->dir);
    *state = place;
    return 0;
}

static inline int remove_place(void **state)
{
    struct place *place = *state;
    int status = file_remove_tree(place->dir);
    free(place->path);
    free(place);
    return status;
}

#define PLACE_TEST(name) cmocka_unit_test_setup_teardown(name, make_place, remove_place)

#endif
