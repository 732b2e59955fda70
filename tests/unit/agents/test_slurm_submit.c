/* Which jobs have a step with --auto-resume, as sbatch and salloc see them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "agents/slurm/submit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char dir[64];

static void put(const char *name, const char *text)
{
    char path[128];
    snprintf(path, sizeof(path), "%s/%s", dir, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, strlen(text), file), strlen(text));
    assert_int_equal(fclose(file), 0);
}

/* words: separated by bars; %: the directory. */
static bool is_submitted(const char *words)
{
    char line[512];
    size_t len = 0;
    for (; *words != '\0'; words++)
        len += (size_t)(*words == '%' ? snprintf(line + len, sizeof(line) - len, "%s", dir)
                                      : (line[len] = *words == '|' ? '\0' : *words, 1));
    line[len++] = '\0';
    char *exact = malloc(len); /* a byte too many would be seen */
    assert_non_null(exact);
    memcpy(exact, line, len);
    bool found = resume_is_submitted(exact, len);
    free(exact);
    return found;
}

static void scripts_and_words(void **state)
{
    (void)state;
    put("train.sh", "#!/bin/bash\n#SBATCH -N2\nsrun --auto-resume=1 python train.py\n");
    put("idiom.sh", "#!/bin/bash\nAUTO_RESUME=''\n[ -d /opt/sagemaker_cluster ] && AUTO_RESUME='--auto-resume=1'\n");
    put("other.sh", "#!/bin/bash\nsrun python train.py\n");
    put("notes.txt", "a note on --auto-resume=1\n");
    put("empty", "");
    assert_true(is_submitted("sbatch|%/train.sh"));
    assert_true(is_submitted("sbatch|-N|2|--exclusive|%/idiom.sh|lr=3"));
    assert_true(is_submitted("sbatch|--wrap|srun --auto-resume=1 hostname"));
    assert_true(is_submitted("sbatch|--wrap=srun --auto-resume=1 hostname"));
    assert_false(is_submitted("sbatch|%/other.sh"));
    assert_false(is_submitted("sbatch|%/other.sh|%/notes.txt"));
    assert_false(is_submitted("sbatch|%/empty"));
    assert_false(is_submitted("sbatch|%"));
    assert_false(is_submitted("sbatch|%/missing|"));
    assert_false(is_submitted("salloc"));
    assert_false(is_submitted(""));
}

/* Nobody waits for a writer. */
static void a_pipe_is_no_script(void **state)
{
    char path[128];
    (void)state;
    snprintf(path, sizeof(path), "%s/pipe", dir);
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_false(is_submitted("sbatch|%/pipe"));
    unlink(path);
}

static int make_dir(void **state)
{
    (void)state;
    snprintf(dir, sizeof(dir), "/tmp/holdfast-submit-XXXXXX");
    return mkdtemp(dir) == NULL;
}

static int remove_dir(void **state)
{
    static const char *const names[] = {"train.sh", "idiom.sh", "other.sh", "notes.txt", "empty"};
    char path[128];
    (void)state;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        snprintf(path, sizeof(path), "%s/%s", dir, names[i]);
        unlink(path);
    }
    return rmdir(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(scripts_and_words),
        cmocka_unit_test(a_pipe_is_no_script),
    };
    return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
