/*
 * A disk that fails: SQLite's calls to the system are caught by defining them here, since the program's own come before the C library's.
 * One test program includes it once.
 */
#ifndef HOLDFAST_TESTS_SIM_SIM_DISK_H
#define HOLDFAST_TESTS_SIM_SIM_DISK_H

#include "tests/sim/sim_base.h"

#include <errno.h>
#include <limits.h>
#include <sys/syscall.h>
#include <unistd.h>

static struct {
    int good, bad; /* calls that go well yet, and calls that fail then */
    int error;
} sim_disk;

SIM_FN bool sim_disk_fails(void)
{
    if (sim_disk.good > 0) {
        sim_disk.good--;
        return false;
    }
    if (sim_disk.bad == 0)
        return false;
    sim_disk.bad--;
    errno = sim_disk.error;
    return true;
}

ssize_t pwrite64(int fd, const void *data, size_t len, off64_t at)
{
    return sim_disk_fails() ? -1 : syscall(SYS_pwrite64, fd, data, len, at);
}

int fdatasync(int fd)
{
    return sim_disk_fails() ? -1 : (int)syscall(SYS_fdatasync, fd);
}

/* After so many calls none goes well: transactions run, and their commits fail. */
SIM_FN void sim_disk_break(int good)
{
    sim_disk.good = good;
    sim_disk.bad = INT_MAX;
    sim_disk.error = EIO;
}

SIM_FN void sim_disk_fix(void)
{
    sim_disk.good = sim_disk.bad = sim_disk.error = 0;
}

#endif
