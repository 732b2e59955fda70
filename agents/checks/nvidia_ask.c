/*
 * NVML is asked in a process of its own, because a driver that hangs holds whoever asks it, and what that process found out comes
 * back in memory that both have.
 */
#include "agents/checks/nvidia_ask.h"

#include "agents/checks/nvidia_links.h"
#include "agents/checks/nvidia_look.h"
#include "agents/checks/nvidia_smi.h"
#include "base/own.h"
#include "base/status.h"
#include "base/text.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/pidfd.h>
#include <sys/wait.h>
#include <unistd.h>

#define REPORT_TIMEOUT_MS 40000 /* without persistence mode the driver initialises each GPU anew: seconds each */
#define LINKS_TIMEOUT_MS 10000
#define LINKS_BYTES_MAX (256 << 10)

/* --- NVML ------------------------------------------------------------------------------------------------------- */

struct shared {
    bool answered;
    struct nvidia_facts answer;
};

static bool ends_in_time(pid_t pid)
{
    struct pollfd one = {.fd = pidfd_open(pid, 0), .events = POLLIN};
    int ready;
    do
        ready = one.fd >= 0 ? poll(&one, 1, REPORT_TIMEOUT_MS) : -1;
    while (ready < 0 && errno == EINTR);
    if (one.fd >= 0)
        close(one.fd);
    kill(pid, SIGKILL);
    (void)waitpid(pid, NULL, ready > 0 ? 0 : WNOHANG); /* what hangs in the kernel ends with our group, or later */
    return ready > 0;
}

/* 0, NOT_FOUND or TIMEOUT. */
static int ask_nvml(const struct check_context *context, struct shared *shared)
{
    autofree char *library =
        context->path != NULL ? check_find_tool(context->path, NVML_LIBRARY) : own_strdup(NVML_LIBRARY);
    if (library == NULL)
        return STATUS_NOT_FOUND;
    pid_t pid = fork();
    if (pid < 0)
        return STATUS_NOT_FOUND;
    if (pid == 0) {
        shared->answered = nvml_ask(library, &shared->answer) == 0;
        _exit(0);
    }
    if (!ends_in_time(pid))
        return STATUS_TIMEOUT;
    return shared->answered ? 0 : STATUS_NOT_FOUND;
}

/* --- nvidia-smi -------------------------------------------------------------------------------------------------- */

static void ask_smi_links(const struct check_context *context, struct nvidia_facts *answer)
{
    static const char *const argv[] = {"nvidia-smi", "nvlink", "--status", NULL};
    static struct nvidia_links links[NVIDIA_GPUS_MAX];
    struct child_result result;
    size_t count = 0;
    if (check_tool(context, argv, LINKS_TIMEOUT_MS, LINKS_BYTES_MAX, &result) == 0) {
        count = result.out_cut ? 0 : nvidia_links_parse(result.out, result.out_len, links);
        child_result_free(&result);
    }
    for (size_t i = 0; i < answer->report.gpu_count; i++) {
        answer->links[i] = (struct nvidia_links){.up = -1};
        for (size_t j = 0; j < count; j++)
            if (strcmp(links[j].uuid, answer->report.gpus[i].uuid) == 0)
                answer->links[i] = links[j];
    }
}

/* 0, or check_tool's statuses; TOO_LARGE. */
static int ask_smi(const struct check_context *context, struct nvidia_facts *answer)
{
    static const char *const argv[] = {"nvidia-smi", "-q", "-x", NULL};
    struct child_result result;
    int status = check_tool(context, argv, REPORT_TIMEOUT_MS, NVIDIA_SMI_BYTES_MAX, &result);
    if (status != 0)
        return status;
    AUTO(text) struct text said = {0};
    text_add_bytes(&said, result.out, result.out_len);
    text_add_char(&said, '\n');
    text_add(&said, result.err);
    if (result.out_cut)
        status = STATUS_TOO_LARGE;
    else
        nvidia_smi_parse(said.data, said.len, &answer->report);
    child_result_free(&result);
    if (status == 0 && answer->report.answer == NVIDIA_ANSWER_REPORT)
        ask_smi_links(context, answer);
    return status;
}

/* --- both -------------------------------------------------------------------------------------------------------- */

static void say_hung(const struct check_context *context, struct check_out *out, const char *what)
{
    if (context->uptime_ms >= NVIDIA_GRACE_MS)
        check_found(out, "nvidia.smi.hung", "", 1, "%s did not end within %d s", what, REPORT_TIMEOUT_MS / 1000);
    check_unknown(out, "%s: %s", what, status_meaning(STATUS_TIMEOUT));
}

static struct nvidia_facts *copy(const struct nvidia_facts *answer)
{
    struct nvidia_facts *copied = own_calloc(1, sizeof(*copied));
    memcpy(copied, answer, sizeof(*copied));
    return copied;
}

static struct nvidia_facts *ask(const struct check_context *context, struct check_out *out, bool is_expected,
                                struct shared *shared)
{
    int by_nvml = ask_nvml(context, shared);
    if (by_nvml == STATUS_TIMEOUT) {
        say_hung(context, out, "NVML");
        return NULL;
    }
    if (by_nvml == 0 && shared->answer.report.answer == NVIDIA_ANSWER_REPORT)
        return copy(&shared->answer);
    autofree struct nvidia_facts *answer = own_calloc(1, sizeof(*answer));
    int by_smi = ask_smi(context, answer);
    if (by_smi == 0)
        return TAKE(answer);
    if (by_smi == STATUS_TIMEOUT)
        say_hung(context, out, "nvidia-smi -q -x");
    else if (by_smi == STATUS_NOT_FOUND && by_nvml == 0)
        return copy(&shared->answer);
    else if (by_smi == STATUS_NOT_FOUND && !is_expected)
        check_not_applicable(out, "no NVIDIA GPU and neither NVML nor nvidia-smi");
    else if (by_smi == STATUS_TOO_LARGE)
        check_unknown(out, "nvidia-smi says more than %d MiB", NVIDIA_SMI_BYTES_MAX >> 20);
    else
        check_unknown(out, "nvidia-smi: %s", status_meaning(by_smi));
    return NULL;
}

struct nvidia_facts *nvidia_ask(const struct check_context *context, struct check_out *out, bool is_expected)
{
    struct shared *shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED) {
        check_unknown(out, "no memory");
        return NULL;
    }
    struct nvidia_facts *answer = ask(context, out, is_expected, shared);
    munmap(shared, sizeof(*shared));
    return answer;
}
