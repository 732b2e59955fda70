/* epoll, one event at a time. */
#include "agents/launcher/loop.h"

#include "base/status.h"

#include <errno.h>
#include <sys/epoll.h>
#include <unistd.h>

int loop_open(struct loop *loop)
{
    loop->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    return loop->epoll_fd < 0 ? STATUS_IO : 0;
}

void loop_close(struct loop *loop)
{
    if (loop->epoll_fd >= 0)
        close(loop->epoll_fd);
    loop->epoll_fd = -1;
}

int loop_add(struct loop *loop, struct source *source, uint32_t events)
{
    struct epoll_event event = {.events = events, .data.ptr = source};
    if (epoll_ctl(loop->epoll_fd, EPOLL_CTL_ADD, source->fd, &event) == 0)
        return 0;
    return errno == EPERM ? STATUS_UNSUPPORTED : STATUS_IO;
}

void loop_change(struct loop *loop, struct source *source, uint32_t events)
{
    struct epoll_event event = {.events = events, .data.ptr = source};
    (void)epoll_ctl(loop->epoll_fd, EPOLL_CTL_MOD, source->fd, &event);
}

void loop_remove(struct loop *loop, struct source *source)
{
    if (source->fd >= 0)
        (void)epoll_ctl(loop->epoll_fd, EPOLL_CTL_DEL, source->fd, NULL);
}

void loop_wait(struct loop *loop, int64_t timeout_ms)
{
    struct epoll_event event;
    int wait = timeout_ms < 0 ? -1 : timeout_ms > INT32_MAX ? INT32_MAX : (int)timeout_ms;
    if (epoll_wait(loop->epoll_fd, &event, 1, wait) == 1) {
        const struct source *source = event.data.ptr;
        source->on_ready(source->arg, event.events);
    }
}
