/*
 * Outputs of real machines, which are nobody's to hand on: a tree of them beside the project, named by HOLDFAST_CAPTURED. A test that reads
 * them says that it is skipped where it is not set; what each of them is about is tested with samples of our own, too.
 */
#ifndef HOLDFAST_TESTS_SUPPORT_CAPTURED_H
#define HOLDFAST_TESTS_SUPPORT_CAPTURED_H

#include "base/file.h"
#include "base/own.h"

#include <stdio.h>
#include <stdlib.h>

/* The path of what is there under that name, which the caller frees; NULL, and a word of it: nothing is. */
static inline char *captured_path(const char *name)
{
    const char *root = getenv("HOLDFAST_CAPTURED");
    autofree char *path = root != NULL && root[0] != '\0' ? own_printf("%s/%s", root, name) : NULL;
    if (path != NULL && file_exists(path))
        return TAKE(path);
    printf("HOLDFAST_CAPTURED names no tree with %s: not read\n", name);
    return NULL;
}

#endif
