/* The words of a command line, and the scripts that they name. A script that others read, or that comes by a pipe, is not seen. */
#include "agents/slurm/submit.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define OPTION "--auto-resume"
#define SCRIPT_BYTES_MAX (4 * 1024 * 1024) /* as many as Slurm takes of a batch script by default */

static bool has_option(const char *text, size_t len)
{
    return memmem(text, len, OPTION, strlen(OPTION)) != NULL;
}

/* As far as it is no longer than that. */
static char *read_all(int fd, size_t *ret_len)
{
    char *bytes = malloc(SCRIPT_BYTES_MAX);
    size_t len = 0;
    for (ssize_t got = 1; bytes != NULL && got > 0 && len < SCRIPT_BYTES_MAX; len += (size_t)(got > 0 ? got : 0))
        got = read(fd, bytes + len, SCRIPT_BYTES_MAX - len);
    *ret_len = len;
    return bytes;
}

static bool is_in_script(const char *path)
{
    struct stat st;
    size_t len = 0;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return false;
    char *bytes = fstat(fd, &st) == 0 && S_ISREG(st.st_mode) ? read_all(fd, &len) : NULL;
    close(fd);
    bool found = bytes != NULL && len > 2 && memcmp(bytes, "#!", 2) == 0 && has_option(bytes, len);
    free(bytes);
    return found;
}

bool resume_is_submitted(const char *words, size_t len)
{
    size_t at = strnlen(words, len) + 1; /* the program itself */
    for (; at < len; at += strnlen(words + at, len - at) + 1)
        if (has_option(words + at, strnlen(words + at, len - at)) || is_in_script(words + at))
            return true;
    return false;
}
