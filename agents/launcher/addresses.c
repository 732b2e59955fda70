/* The file's list is as long as the job has nodes now; what is not known of it is null. */
#include "agents/launcher/addresses.h"

#include "base/file.h"
#include "base/own.h"
#include "base/status.h"

#include <string.h>

#define FILE_NAME "pod_resourceconfig.json"
#define FILE_BYTES_MAX (16 << 20)
#define FILE_MODE 0644

static json_t *read_old(const char *path)
{
    autofree char *data = NULL;
    size_t len;
    char error[JSON_ERROR_MAX];
    json_t *old = NULL;
    if (file_read(path, FILE_BYTES_MAX, &data, &len) != 0 || json_parse(data, len, FILE_BYTES_MAX, &old, error) != 0)
        return NULL;
    return old;
}

int addresses_write(const char *directory, const struct place *place, const char *version, const json_t *addresses)
{
    autofree char *path = own_printf("%s/%s", directory, FILE_NAME);
    AUTO(json) json_t *old = read_old(path);
    AUTO(json) json_t *file = json_object();
    json_t *ips = json_array(), *old_ips = json_object_get(old, "ips"), *entry;
    size_t at;
    json_object_set_new(file, "ips", ips);
    for (int i = 0; i < place->nodes; i++) {
        json_t *known = json_array_get(old_ips, (size_t)i);
        json_array_append(ips, known != NULL ? known : json_null());
    }
    json_array_foreach(addresses, at, entry)
    {
        const json_t *rank = json_object_get(entry, "rank");
        json_t *ip = json_object_get(entry, "ip");
        if (!json_is_integer(rank) || json_integer_value(rank) < 0 || json_integer_value(rank) > NODES_MAX ||
            !json_is_string(ip))
            return STATUS_INVALID;
        if (json_integer_value(rank) < place->nodes)
            json_array_set(ips, (size_t)json_integer_value(rank), ip);
    }
    json_object_set(file, "current_pod_ip", json_array_get(ips, (size_t)place->rank));
    json_object_set_new(file, "ips_timestamp", json_string(version));
    autofree char *text = json_dumps(file, 0);
    int rc = text == NULL ? STATUS_INVALID : file_make_dirs(directory, 0755);
    return rc != 0 ? rc : file_write(path, text, strlen(text), FILE_MODE);
}
