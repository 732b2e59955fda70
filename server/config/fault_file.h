/*
 * The file of fault overrides (faultTables): read at the start and again on SIGHUP. A file that is wrong anywhere is
 * refused as a whole, and what was in use stays so.
 */
#ifndef HOLDFAST_SERVER_FAULT_FILE_H
#define HOLDFAST_SERVER_FAULT_FILE_H

#include "policy/faults/faults.h"

#define FAULT_FILE_BYTES_MAX (256 * 1024)
#define FAULT_FILE_ERROR_MAX 512

/* The same of a text that is already here; name is what errors call it. data ends with a zero behind len bytes. */
int fault_file_parse(const char *name, const char *data, size_t len, struct fault_overrides **ret_overrides,
                     char ret_error[FAULT_FILE_ERROR_MAX]);
/* INVALID with file, line and reason in ret_error; NOT_FOUND; TOO_LARGE. Caller frees what it gets. */
int fault_file_read(const char *path, struct fault_overrides **ret_overrides, char ret_error[FAULT_FILE_ERROR_MAX]);

#endif
