/*
 * The loop, and two ways to answer the end of a run. Alone: a fault stops the workers, and they begin anew while restarts are left. For an
 * operator: a fault is shown, and what it asks for is done.
 */
#include "agents/launcher/drive.h"

#include "agents/launcher/http.h"
#include "agents/launcher/meet.h"
#include "agents/launcher/socket.h"
#include "base/id.h"
#include "base/log.h"
#include "base/status.h"
#include "base/text.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#define EXIT_BY_SIGNAL 128

static const int passed_on[] = {SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGCONT, SIGALRM, SIGWINCH};

/* --- who decides -------------------------------------------------------------------------------------- */

static void finish(struct launcher *launcher, int exit_code)
{
    launcher->done = true;
    launcher->exit_code = launcher->ended_by != 0 ? EXIT_BY_SIGNAL + launcher->ended_by : exit_code;
}

static void on_over_hyperpod(struct launcher *launcher, enum over over)
{
    if (over == OVER_SUCCESS && launcher->state == AGENT_RUNNING)
        launcher_move(launcher, AGENT_COMPLETED, NULL, NULL);
    if (over != OVER_STOPPED)
        return;
    if (launcher->ended_by != 0 || launcher->state == AGENT_SHUTDOWN)
        finish(launcher, launcher->exit_code);
    else
        launcher_move(launcher, AGENT_READY, NULL, NULL);
}

static void begin_alone(struct launcher *launcher, struct place place)
{
    if (launcher->options->backend == BACKEND_C10D)
        place.master_port = meet_free_port();
    launcher_move(launcher, AGENT_RUNNING, NULL, NULL);
    launcher_begin(launcher, &place);
}

static void say_failure(const struct launcher *launcher)
{
    fprintf(stderr, "hprun: the job failed after %lld restart%s: %s: %s\n", (long long)launcher->place.restart_count,
            text_plural(launcher->place.restart_count), text_or_empty(launcher->fault_reason),
            text_or_empty(launcher->fault_message));
}

static void on_over_alone(struct launcher *launcher, enum over over)
{
    const struct options *o = launcher->options;
    if (over == OVER_SUCCESS) {
        launcher_move(launcher, AGENT_COMPLETED, NULL, NULL);
        finish(launcher, 0);
    } else if (over == OVER_FAULT) {
        launcher_move(launcher, AGENT_STOPPING, NULL, NULL);
        launcher_stop(launcher, o->shutdown_signal, o->shutdown_s * MS_PER_S);
    } else if (launcher->ended_by != 0) {
        finish(launcher, 1);
    } else if (launcher->place.restart_count >= o->max_restarts) {
        say_failure(launcher);
        finish(launcher, 1);
    } else {
        struct place place = launcher->place;
        place.restart_count++;
        launcher_move(launcher, AGENT_READY, NULL, NULL);
        begin_alone(launcher, place);
    }
}

/* --- the loop ----------------------------------------------------------------------------------------- */

struct signals {
    struct launcher *launcher;
    struct source source;
};

static void on_signal(void *arg, uint32_t events)
{
    struct signals *signals = arg;
    struct launcher *launcher = signals->launcher;
    struct signalfd_siginfo info;
    (void)events;
    if (read(signals->source.fd, &info, sizeof(info)) != sizeof(info))
        return;
    if (info.ssi_signo != SIGCHLD)
        launcher_take_signal(launcher, (int)info.ssi_signo);
    else
        while (workers_reap_one(launcher->workers, launcher->worker_count))
            ;
}

static int open_signals(struct signals *signals, struct launcher *launcher)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGCHLD);
    for (size_t i = 0; i < ARRAY_LEN(passed_on); i++)
        sigaddset(&set, passed_on[i]);
    sigprocmask(SIG_BLOCK, &set, NULL);
    signals->launcher = launcher;
    signals->source = (struct source){signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK), on_signal, signals};
    return signals->source.fd < 0 ? STATUS_IO : loop_add(&launcher->loop, &signals->source, EPOLLIN);
}

static int64_t earlier(int64_t a, int64_t b)
{
    return a < 0 || (b >= 0 && b < a) ? b : a;
}

static void run_loop(struct launcher *launcher)
{
    const struct clock *clock = clock_system();
    while (!launcher->done) {
        int64_t wait = launcher->http != NULL ? http_run(launcher->http) : -1, due = launcher_due_ms(launcher);
        int64_t meeting = launcher->meet != NULL ? meet_due_ms(launcher->meet) : INT64_MAX;
        due = meeting < due ? meeting : due;
        launcher_tell(launcher);
        if (launcher->done)
            break;
        if (due != INT64_MAX) {
            int64_t left = due - clock_mono_ms(clock);
            wait = earlier(wait, left > 0 ? left : 0);
        }
        loop_wait(&launcher->loop, wait);
        launcher_tick(launcher, clock_mono_ms(clock));
        if (launcher->meet != NULL)
            meet_tick(launcher->meet, clock_mono_ms(clock));
        launcher_tell(launcher);
    }
}

/* --- beginning ---------------------------------------------------------------------------------------- */

static int find_master(const struct options *o, struct place *place)
{
    const char *colon = strrchr(o->endpoint, ':');
    int64_t port = o->master_port;
    place->master_port = (int)o->master_port;
    if (o->backend == BACKEND_C10D)
        return text_copy(place->master_addr, sizeof(place->master_addr), "127.0.0.1");
    if (*o->endpoint == '\0')
        return text_copy(place->master_addr, sizeof(place->master_addr), o->master_addr);
    if (colon == NULL || text_parse_i64(colon + 1, 1, 65535, &port) != 0) {
        log_error("--rdzv-endpoint has to be HOST:PORT endpoint=%s", o->endpoint);
        return STATUS_INVALID;
    }
    place->master_port = (int)port;
    return text_copy_bytes(place->master_addr, sizeof(place->master_addr), o->endpoint, (size_t)(colon - o->endpoint));
}

static int begin(struct launcher *launcher)
{
    const struct options *o = launcher->options;
    struct place place = {.rank = (int)o->node_rank,
                          .nodes = o->nodes_max,
                          .ranks = o->ranks,
                          .role = o->role,
                          .run_id = o->run_id,
                          .max_restarts = o->max_restarts};
    launcher_move(launcher, AGENT_READY, NULL, NULL);
    if (o->backend == BACKEND_HYPERPOD) {
        launcher->on_over = on_over_hyperpod;
        int rc = http_open(launcher, &launcher->http);
        if (rc == 0)
            log_info("listening address=%s port=%d token=%s", o->server_host, http_port(launcher->http),
                     o->token_file != NULL ? "yes" : "no");
        return rc;
    }
    if (o->nodes_max > 1)
        return meet_open(launcher, finish, &launcher->meet);
    launcher->on_over = on_over_alone;
    int rc = find_master(o, &place);
    if (rc == 0)
        begin_alone(launcher, place);
    return rc;
}

int drive(const struct options *options, char *const env[])
{
    struct launcher launcher;
    struct signals signals = {.source = {-1, NULL, NULL}};
    int exit_code = 1;
    workers_prepare();
    if (launcher_init(&launcher, options, env) == 0 && open_signals(&signals, &launcher) == 0 &&
        socket_open(&launcher, &launcher.socket) == 0) {
        launcher_tick(&launcher, clock_mono_ms(clock_system())); /* reads the rules */
        if (begin(&launcher) == 0) {
            run_loop(&launcher);
            exit_code = launcher.exit_code;
        }
    }
    http_close(launcher.http);
    meet_close(launcher.meet);
    socket_close(launcher.socket);
    launcher_free(&launcher);
    if (signals.source.fd >= 0)
        close(signals.source.fd);
    return exit_code;
}
