/*
 * A wall clock that a test sets: preloaded into hpd, it adds what stands in a file (a decimal number of seconds) to CLOCK_REALTIME, and leaves
 * every other clock as it is. That is what a person or an NTP client does who sets the machine's clock.
 *
 *     cc -shared -fPIC -o stepped_clock.so stepped_clock.c
 *     STEPPED_CLOCK_FILE=FILE LD_PRELOAD=./stepped_clock.so hpd …
 */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static long step_s(void)
{
    char text[24];
    const char *path = getenv("STEPPED_CLOCK_FILE");
    int fd = path != NULL ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    ssize_t n = fd >= 0 ? read(fd, text, sizeof(text) - 1) : 0;
    if (fd >= 0)
        close(fd);
    text[n > 0 ? n : 0] = '\0';
    return strtol(text, NULL, 10);
}

int clock_gettime(clockid_t id, struct timespec *ret_time)
{
    long status = syscall(SYS_clock_gettime, id, ret_time);
    if (status == 0 && (id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE))
        ret_time->tv_sec += step_s();
    return (int)status;
}

int gettimeofday(struct timeval *restrict ret_time, void *restrict zone)
{
    struct timespec now;
    int status = clock_gettime(CLOCK_REALTIME, &now);
    (void)zone;
    ret_time->tv_sec = now.tv_sec;
    ret_time->tv_usec = now.tv_nsec / 1000;
    return status;
}

time_t time(time_t *ret_time)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_REALTIME, &now);
    if (ret_time != NULL)
        *ret_time = now.tv_sec;
    return now.tv_sec;
}
