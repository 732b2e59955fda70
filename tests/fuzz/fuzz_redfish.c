/* Fuzzing of what a BMC answers and of the file of credentials: no path leads elsewhere, and nothing has a control character. */
// ROOMS: server policy db model base
#include "server/reboot/bmc.h"
#include "server/reboot/redfish.h"
#include "tests/fuzz/fuzz.h"

static void require_path(const char *path)
{
    REQUIRE(strncmp(path, "/redfish/v1/", 12) == 0 && strlen(path) < REDFISH_PATH_MAX_BYTES);
    REQUIRE(strstr(path, "..") == NULL && strpbrk(path, "\r\n ?#%\\\"") == NULL);
}

static void require_plain(const char *text)
{
    for (const char *c = text; *c != '\0'; c++)
        REQUIRE((unsigned char)*c >= ' ' && *c != 0x7f);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct redfish_system system;
    struct bmc_credentials credentials;
    char address[BMC_ADDRESS_MAX_BYTES], system_path[BMC_ADDRESS_MAX_BYTES];
    char path[REDFISH_PATH_MAX_BYTES], said[REDFISH_SAID_MAX_BYTES] = "", error[REBOOT_ERROR_MAX] = "";
    char *text = fuzz_text(data, size);
    if (redfish_read_systems(text, size, path, said) == 0)
        require_path(path);
    if (redfish_read_system(text, size, &system, said) == 0)
        require_path(system.reset_path);
    if (bmc_locate(text, address, system_path) == 0) {
        REQUIRE(strncmp(address, "https://", 8) == 0 || strncmp(address, "http://", 7) == 0);
        if (system_path[0] != '\0')
            require_path(system_path);
    }
    redfish_read_error(text, size, said);
    require_plain(said);
    if (bmc_credentials_read(text, size, "https://bmc-gpu-1.example", &credentials, error) == 0) {
        require_plain(credentials.user);
        require_plain(credentials.password);
    }
    free(text);
    return 0;
}
