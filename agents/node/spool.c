/*
 * One append-only file of frames, and an index of them in memory.
 *
 *     frame: magic, length, flags, id, first bytes of SHA-256 over all of it but the digest; then the data
 *
 * A crash may leave half a frame at the end. Reading tries every byte as the start of a frame with a valid digest, so a torn end
 * or a bad sector costs only the damaged record. Acknowledged records are removed in memory only. After a crash they are sent
 * again; the key of the verdict makes the repeat harmless. The file is rewritten when it reaches its bound and some of its
 * records are done. It is truncated when no record waits.
 *
 * If waiting records alone reach the bound, the oldest record that is not critical is dropped first. A critical record may also
 * push out the oldest critical one.
 */
#include "agents/node/spool.h"

#include "base/id.h"
#include "base/own.h"
#include "base/status.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAGIC UINT32_C(0x31534648) /* "HFS1" */
#define FLAG_CRITICAL 1U
#define DROP_SHARE 8 /* a drop frees an eighth, so that not every append rewrites the file */

struct frame {
    uint32_t magic, len, flags, spare;
    uint64_t id;
    uint8_t digest[8];
};

struct entry {
    uint64_t serial, id;
    int64_t offset; /* of the frame; -1: only in memory */
    uint32_t len;   /* of the data */
    bool critical, waiting;
    char *memory;
};

struct spool {
    char *path;
    int fd;
    size_t bytes_max;
    int64_t end; /* of the last good frame */
    struct entry *entries;
    size_t count, capacity; /* entries, done ones included */
    size_t waiting, in_memory;
    uint64_t serial;
    int64_t dropped;
    struct text frame; /* the one being written */
};

/* --- frames -------------------------------------------------------------------------------------------------- */

static void make_digest(const struct frame *frame, const void *data, uint8_t ret_digest[8])
{
    uint8_t all[ID_SHA256_BYTES];
    struct text text = {0};
    text_add_bytes(&text, (const char *)frame, offsetof(struct frame, digest));
    text_add_bytes(&text, data, frame->len);
    id_sha256(text.data, text.len, all);
    memcpy(ret_digest, all, 8);
    text_free(&text);
}

static size_t frame_size(size_t len)
{
    return sizeof(struct frame) + len;
}

static void build(struct text *out, uint64_t id, bool critical, const void *data, size_t len)
{
    struct frame frame = {.magic = MAGIC, .len = (uint32_t)len, .flags = critical ? FLAG_CRITICAL : 0, .id = id};
    make_digest(&frame, data, frame.digest);
    text_clear(out);
    text_add_bytes(out, (const char *)&frame, sizeof(frame));
    text_add_bytes(out, data, len);
}

/* The frame at at, if a whole and good one begins there. */
static bool read_frame(const char *at, size_t left, struct frame *ret_frame)
{
    uint8_t digest[8];
    if (left < sizeof(*ret_frame))
        return false;
    memcpy(ret_frame, at, sizeof(*ret_frame));
    if (ret_frame->magic != MAGIC || ret_frame->len > SPOOL_RECORD_BYTES_MAX || frame_size(ret_frame->len) > left)
        return false;
    make_digest(ret_frame, at + sizeof(*ret_frame), digest);
    return memcmp(digest, ret_frame->digest, sizeof(digest)) == 0;
}

static int write_at(int fd, int64_t offset, const char *data, size_t len)
{
    while (len > 0) {
        ssize_t n = pwrite(fd, data, len, offset);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return n < 0 ? status_of_write(errno) : STATUS_IO;
        data += n;
        len -= (size_t)n;
        offset += n;
    }
    return 0;
}

/* A new directory entry survives a power failure only after an fsync of the directory. */
static int sync_directory(const char *path)
{
    const char *slash = strrchr(path, '/');
    autofree char *directory = slash == NULL ? own_strdup(".") : own_printf("%.*s/", (int)(slash - path), path);
    int fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return STATUS_IO;
    int rc = fsync(fd);
    close(fd);
    return rc == 0 ? 0 : STATUS_IO;
}

/* --- the index ----------------------------------------------------------------------------------------------- */

static struct entry *add_entry(struct spool *spool, uint64_t id, bool critical, size_t len)
{
    if (spool->count == spool->capacity) {
        spool->capacity = spool->capacity == 0 ? 16 : spool->capacity * 2;
        spool->entries = own_realloc(spool->entries, spool->capacity, sizeof(*spool->entries));
    }
    struct entry *entry = &spool->entries[spool->count++];
    *entry = (struct entry){
        .serial = ++spool->serial, .id = id, .offset = -1, .len = (uint32_t)len, .critical = critical, .waiting = true};
    spool->waiting++;
    return entry;
}

static void finish(struct spool *spool, struct entry *entry)
{
    if (!entry->waiting)
        return;
    entry->waiting = false;
    spool->waiting--;
    if (entry->memory != NULL) {
        free(TAKE(entry->memory));
        spool->in_memory--;
    }
}

/* Removes done entries. */
static void squeeze(struct spool *spool)
{
    size_t kept = 0;
    for (size_t i = 0; i < spool->count; i++)
        if (spool->entries[i].waiting)
            spool->entries[kept++] = spool->entries[i];
    spool->count = kept;
}

static struct entry *find(const struct spool *spool, uint64_t serial)
{
    size_t low = 0, high = spool->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (spool->entries[middle].serial < serial)
            low = middle + 1;
        else
            high = middle;
    }
    bool found = low < spool->count && spool->entries[low].serial == serial && spool->entries[low].waiting;
    return found ? &spool->entries[low] : NULL;
}

static void replace_earlier(struct spool *spool, uint64_t id, uint64_t serial)
{
    for (size_t i = 0; i < spool->count; i++)
        if (spool->entries[i].waiting && spool->entries[i].id == id && spool->entries[i].serial != serial)
            finish(spool, &spool->entries[i]);
}

/* --- opening ------------------------------------------------------------------------------------------------- */

static size_t scan(struct spool *spool, const char *data, size_t len)
{
    size_t at = 0, damaged = 0;
    while (at < len) {
        struct frame frame;
        if (!read_frame(data + at, len - at, &frame)) {
            at++;
            damaged++;
            continue;
        }
        struct entry *entry = add_entry(spool, frame.id, (frame.flags & FLAG_CRITICAL) != 0, frame.len);
        entry->offset = (int64_t)at;
        replace_earlier(spool, frame.id, entry->serial);
        at += frame_size(frame.len);
        spool->end = (int64_t)at;
    }
    squeeze(spool);
    return damaged;
}

static int load(struct spool *spool, size_t *ret_damaged)
{
    struct stat st;
    if (fstat(spool->fd, &st) != 0)
        return STATUS_IO;
    /* An earlier process may have had a larger bound. */
    size_t len = st.st_size > 16 * SPOOL_BYTES_MAX ? 16 * SPOOL_BYTES_MAX : (size_t)st.st_size, at = 0;
    autofree char *data = own_calloc(len + 1, 1);
    while (at < len) {
        ssize_t n = pread(spool->fd, data + at, len - at, (off_t)at);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return STATUS_IO;
        if (n == 0)
            break;
        at += (size_t)n;
    }
    *ret_damaged = scan(spool, data, at);
    return ftruncate(spool->fd, spool->end) == 0 ? 0 : STATUS_IO;
}

int spool_open(const char *path, size_t bytes_max, struct spool **ret_spool, size_t *ret_damaged)
{
    struct spool *spool = own_calloc(1, sizeof(*spool));
    spool->path = own_strdup(path);
    spool->bytes_max = bytes_max;
    spool->fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    int status = spool->fd < 0 || sync_directory(path) != 0 ? STATUS_IO : load(spool, ret_damaged);
    if (status != 0) {
        spool_free(spool);
        return status;
    }
    *ret_spool = spool;
    return 0;
}

void spool_free(struct spool *spool)
{
    if (spool == NULL)
        return;
    for (size_t i = 0; i < spool->count; i++)
        free(spool->entries[i].memory);
    if (spool->fd >= 0)
        close(spool->fd);
    free(spool->entries);
    text_free(&spool->frame);
    free(spool->path);
    free(spool);
}

/* --- room ---------------------------------------------------------------------------------------------------- */

static size_t waiting_bytes(const struct spool *spool)
{
    size_t bytes = 0;
    for (size_t i = 0; i < spool->count; i++)
        if (spool->entries[i].waiting && spool->entries[i].memory == NULL)
            bytes += frame_size(spool->entries[i].len);
    return bytes;
}

static bool drop_oldest(struct spool *spool, bool critical_too, bool in_memory)
{
    for (size_t i = 0; i < spool->count; i++) {
        struct entry *entry = &spool->entries[i];
        if (entry->waiting && (critical_too || !entry->critical) && (entry->memory != NULL) == in_memory) {
            finish(spool, entry);
            spool->dropped++;
            return true;
        }
    }
    return false;
}

static int copy_waiting(struct spool *spool, int fd, int64_t *ret_end)
{
    struct text data AUTO(text) = {0};
    int64_t end = 0;
    for (size_t i = 0; i < spool->count; i++) {
        struct entry *entry = &spool->entries[i];
        if (!entry->waiting || entry->memory != NULL || spool_read(spool, entry->serial, &data) != 0)
            continue;
        build(&spool->frame, entry->id, entry->critical, data.data, data.len);
        int status = write_at(fd, end, spool->frame.data, spool->frame.len);
        if (status != 0)
            return status;
        end += (int64_t)spool->frame.len;
    }
    *ret_end = end;
    return fsync(fd) == 0 ? 0 : STATUS_IO;
}

/* Copies waiting records into a new file, which then replaces the old one. */
static int rewrite(struct spool *spool)
{
    autofree char *path = own_printf("%s.new", spool->path);
    int64_t end = 0, offset = 0;
    int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0)
        return STATUS_IO;
    int status = copy_waiting(spool, fd, &end);
    if (status == 0 && rename(path, spool->path) != 0)
        status = STATUS_IO;
    if (status != 0) {
        close(fd);
        unlink(path);
        return status;
    }
    close(spool->fd);
    spool->fd = fd;
    spool->end = end;
    squeeze(spool);
    for (size_t i = 0; i < spool->count; i++) {
        if (spool->entries[i].memory != NULL)
            continue;
        spool->entries[i].offset = offset;
        offset += (int64_t)frame_size(spool->entries[i].len);
    }
    return sync_directory(spool->path);
}

/* Makes room for size more bytes within the bound. */
static int make_room(struct spool *spool, size_t size, bool critical)
{
    if ((size_t)spool->end + size <= spool->bytes_max)
        return 0;
    size_t waiting = waiting_bytes(spool);
    if (waiting + size > spool->bytes_max) {
        size_t goal = spool->bytes_max - spool->bytes_max / DROP_SHARE;
        while (waiting_bytes(spool) + size > goal && drop_oldest(spool, false, false))
            ;
        while (critical && waiting_bytes(spool) + size > spool->bytes_max && drop_oldest(spool, true, false))
            ;
        if (waiting_bytes(spool) + size > spool->bytes_max)
            return STATUS_TOO_LARGE;
    }
    return rewrite(spool);
}

/* --- writing ------------------------------------------------------------------------------------------------- */

static int put(struct spool *spool, struct entry *entry, const void *data)
{
    build(&spool->frame, entry->id, entry->critical, data, entry->len);
    int status = write_at(spool->fd, spool->end, spool->frame.data, spool->frame.len);
    if (status == 0 && fdatasync(spool->fd) != 0)
        status = STATUS_IO;
    if (status != 0) {
        (void)!ftruncate(spool->fd, spool->end);
        return status;
    }
    entry->offset = spool->end;
    spool->end += (int64_t)spool->frame.len;
    return 0;
}

static void keep_in_memory(struct spool *spool, struct entry *entry, const void *data)
{
    entry->memory = own_calloc(entry->len + 1U, 1);
    memcpy(entry->memory, data, entry->len);
    spool->in_memory++;
    if (spool->in_memory > SPOOL_MEMORY_RECORDS_MAX && !drop_oldest(spool, false, true))
        drop_oldest(spool, true, true);
}

int spool_append(struct spool *spool, uint64_t id, bool critical, const void *data, size_t len)
{
    if (len > SPOOL_RECORD_BYTES_MAX)
        return STATUS_TOO_LARGE;
    int status = make_room(spool, frame_size(len), critical);
    if (status == STATUS_TOO_LARGE) { /* full of records that matter more */
        spool->dropped++;
        return STATUS_FULL;
    }
    struct entry *entry = add_entry(spool, id, critical, len);
    uint64_t serial = entry->serial;
    if (status == 0)
        status = put(spool, entry, data);
    if (status != 0)
        keep_in_memory(spool, entry, data);
    replace_earlier(spool, id, serial);
    return status;
}

int spool_retry(struct spool *spool)
{
    for (size_t i = 0; i < spool->count && spool->in_memory > 0; i++) {
        struct entry *entry = &spool->entries[i];
        if (!entry->waiting || entry->memory == NULL)
            continue;
        if ((size_t)spool->end + frame_size(entry->len) > spool->bytes_max)
            return STATUS_FULL; /* it stays in memory until it is sent */
        int status = put(spool, entry, entry->memory);
        if (status != 0)
            return status;
        free(TAKE(entry->memory));
        spool->in_memory--;
    }
    return 0;
}

/* --- reading ------------------------------------------------------------------------------------------------- */

size_t spool_count(const struct spool *spool)
{
    return spool->waiting;
}

int64_t spool_dropped(const struct spool *spool)
{
    return spool->dropped;
}

bool spool_is_durable(const struct spool *spool)
{
    return spool->in_memory == 0;
}

bool spool_next(const struct spool *spool, uint64_t after, uint64_t *ret_serial)
{
    for (size_t i = 0; i < spool->count && spool->waiting > 0; i++)
        if (spool->entries[i].waiting && spool->entries[i].serial > after) {
            *ret_serial = spool->entries[i].serial;
            return true;
        }
    return false;
}

int spool_read(struct spool *spool, uint64_t serial, struct text *ret_data)
{
    struct entry *entry = find(spool, serial);
    if (entry == NULL)
        return STATUS_NOT_FOUND;
    text_clear(ret_data);
    if (entry->memory != NULL) {
        text_add_bytes(ret_data, entry->memory, entry->len);
        return 0;
    }
    struct frame frame;
    size_t size = frame_size(entry->len);
    autofree char *bytes = own_calloc(size, 1);
    if (pread(spool->fd, bytes, size, entry->offset) != (ssize_t)size || !read_frame(bytes, size, &frame) ||
        frame.len != entry->len) {
        finish(spool, entry);
        spool->dropped++;
        return STATUS_IO;
    }
    text_add_bytes(ret_data, bytes + sizeof(frame), entry->len);
    return 0;
}

void spool_done(struct spool *spool, uint64_t serial)
{
    struct entry *entry = find(spool, serial);
    if (entry != NULL)
        finish(spool, entry);
}

void spool_trim(struct spool *spool)
{
    if (spool->waiting > 0 || spool->count == 0)
        return;
    spool->count = 0;
    if (ftruncate(spool->fd, 0) == 0)
        spool->end = 0;
}
