/*
 * XML by expat, as the elements of one document pass by: for the output of tools.
 *
 * Nothing is fetched and nothing is expanded: a document that declares things of its own (an internal subset, and so
 * entities) is refused, and one that uses an entity which it did not declare too. A DOCTYPE that only names a file is
 * passed over.
 */
#ifndef HOLDFAST_BASE_XML_H
#define HOLDFAST_BASE_XML_H

#include <stddef.h>

#define XML_DEPTH_MAX 16        /* nvidia-smi nests to 7 */
#define XML_PATH_BYTES_MAX 512  /* names from the root on, with "/" between */
#define XML_TEXT_BYTES_MAX 1024 /* of one element; more is cut */
#define XML_ERROR_MAX 128

struct xml_reader {
    /* path ends with the element's name; attributes are name, value, …, NULL. May be NULL. */
    void (*open)(const char *path, const char *const attributes[], void *arg);
    /* text: what stood before this end and behind the last tag, so all of an element that holds no others; without
     * blanks at either end, UTF-8, and with any control characters that it came with. */
    void (*close)(const char *path, const char *text, void *arg);
};

/* Reads all of a document. INVALID when it is none or not whole, TOO_LARGE above a limit, each with a message that quotes
 * nothing of it. What was read before is then of no worth. */
int xml_read(const char *data, size_t len, size_t bytes_max, const struct xml_reader *reader, void *arg,
             char ret_error[XML_ERROR_MAX]);

#endif
