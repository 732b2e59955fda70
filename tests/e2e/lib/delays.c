/*
 * A machine whose threads and disk are late at random moments, from a seed: preloaded into a program, it sleeps now and then before a lock is taken, after
 * one is given back, and in each request that the disk keeps what was written.
 *
 *     cc -shared -fPIC -o delays.so delays.c -ldl
 *     DELAYS_SEED=7 LD_PRELOAD=./delays.so PROGRAM …
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define LOCKS_PER_DELAY 4000
#define LOCK_US_MAX 3000
#define DISK_US_MAX 15000

static _Thread_local uint64_t state;
static uint64_t threads;

static uint64_t next(void)
{
    if (state == 0) {
        const char *seed = getenv("DELAYS_SEED");
        state =
            (strtoull(seed != NULL ? seed : "1", NULL, 10) << 8) + __atomic_add_fetch(&threads, 1, __ATOMIC_RELAXED);
    }
    uint64_t z = state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

static void late(uint64_t us_max)
{
    const struct timespec rest = {.tv_nsec = (long)(next() % us_max) * 1000};
    (void)nanosleep(&rest, NULL);
}

typedef int (*mutex_fn)(pthread_mutex_t *mutex);
typedef int (*disk_fn)(int fd);

int pthread_mutex_lock(pthread_mutex_t *mutex)
{
    static mutex_fn real;
    if (real == NULL)
        real = (mutex_fn)dlsym(RTLD_NEXT, "pthread_mutex_lock");
    if (next() % LOCKS_PER_DELAY == 0)
        late(LOCK_US_MAX);
    return real(mutex);
}

int pthread_mutex_unlock(pthread_mutex_t *mutex)
{
    static mutex_fn real;
    if (real == NULL)
        real = (mutex_fn)dlsym(RTLD_NEXT, "pthread_mutex_unlock");
    int status = real(mutex);
    if (next() % LOCKS_PER_DELAY == 0)
        late(LOCK_US_MAX);
    return status;
}

int fdatasync(int fd)
{
    static disk_fn real;
    if (real == NULL)
        real = (disk_fn)dlsym(RTLD_NEXT, "fdatasync");
    late(DISK_US_MAX);
    return real(fd);
}

int fsync(int fd)
{
    static disk_fn real;
    if (real == NULL)
        real = (disk_fn)dlsym(RTLD_NEXT, "fsync");
    late(DISK_US_MAX);
    return real(fd);
}
