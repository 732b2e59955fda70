/* Whoever opens all the connections there are takes no descriptor from the rest of the process. */
#include "api_world.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>

#define DESCRIPTORS 400
#define CONNECTIONS 300 /* what is left of them for connections */
#define GREED 390
#define NEEDED 32 /* what a few children with their pipes take */
#define ROUNDS 100

/* In a process of its own: opens all it can, says so, and waits to be killed. */
static _Noreturn void be_greedy(uint16_t port, int said)
{
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(port)};
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    prctl(PR_SET_PDEATHSIG, SIGKILL); /* a test that fails leaves nobody behind */
    for (int fd = STDERR_FILENO + 1; fd < DESCRIPTORS; fd++)
        if (fd != said)
            close(fd);
    for (int i = 0; i < GREED; i++) {
        int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
        if (fd >= 0)
            (void)connect(fd, (const struct sockaddr *)&to, sizeof to);
    }
    (void)!write(said, "x", 1);
    for (;;)
        pause();
}

static int count_descriptors(void)
{
    int count = 0;
    DIR *dir = opendir("/proc/self/fd");
    if (dir == NULL)
        return DESCRIPTORS; /* there was none left for looking */
    while (readdir(dir) != NULL)
        count++;
    closedir(dir);
    return count - 3; /* ".", ".." and the look itself */
}

static void ask_on(int fd)
{
    client_send(fd, "GET /healthz HTTP/1.1\r\nHost: holdfast\r\n\r\n");
    struct reply reply = client_read_reply(fd, false);
    assert_int_equal(reply.status, 200);
    reply_free(&reply);
}

static void assert_descriptors_left(void)
{
    int fds[NEEDED];
    for (int i = 0; i < NEEDED; i++) {
        fds[i] = open("/dev/null", O_RDONLY | O_CLOEXEC);
        if (fds[i] < 0)
            fail_msg("only %d descriptors were left", i);
    }
    for (int i = 0; i < NEEDED; i++)
        close(fds[i]);
}

static void test_connections_leave_descriptors_to_others(void **state)
{
    struct api_world aw;
    struct rlimit before, few;
    int said[2];
    char x;
    (void)state;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    few = (struct rlimit){.rlim_cur = DESCRIPTORS, .rlim_max = before.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
    api_world_open(&aw, &(struct api_options){.workers = 1});
    assert_int_equal(pipe2(said, O_CLOEXEC), 0);
    int guest = client_connect(&aw);
    ask_on(guest);
    int at_first = count_descriptors() - 1; /* less the guest's connection */
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0)
        be_greedy(api_port(aw.api), said[1]);
    assert_int_equal(read(said[0], &x, 1), 1);
    /* Each answer is a turn of the loop, which takes connections: in the end all that it will take. */
    for (int i = 0; i < ROUNDS || count_descriptors() < at_first + CONNECTIONS; i++)
        ask_on(guest);
    assert_descriptors_left();
    assert_int_equal(count_descriptors(), at_first + CONNECTIONS);
    kill(child, SIGKILL);
    assert_int_equal(waitpid(child, NULL, 0), child);
    struct reply reply = client_ask(&aw, "GET", "/healthz", NULL, NULL, NULL);
    assert_int_equal(reply.status, 200); /* the API answers again */
    reply_free(&reply);
    close(guest);
    close(said[0]);
    close(said[1]);
    api_world_close(&aw);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_connections_leave_descriptors_to_others)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
