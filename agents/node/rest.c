/*
 * A TLS handshake walks through megabytes of library code that a heartbeat never touches again. Those pages are clean
 * copies of files, so they are dropped by madvise: only segments that cannot be written, because what was
 * changed in memory (relocations, data) has no other copy.
 */
#include "agents/node/rest.h"

#include <link.h>
#include <malloc.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

static int let_go(struct dl_phdr_info *info, size_t size, void *arg)
{
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    (void)size;
    (void)arg;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
        if (segment->p_type != PT_LOAD || (segment->p_flags & PF_W) != 0)
            continue;
        uintptr_t start = (info->dlpi_addr + segment->p_vaddr) & ~(page - 1);
        uintptr_t end = info->dlpi_addr + segment->p_vaddr + segment->p_memsz;
        (void)madvise((void *)start, end - start, MADV_DONTNEED);
    }
    return 0;
}

void rest(void)
{
    (void)malloc_trim(0);
    (void)dl_iterate_phdr(let_go, NULL);
}
