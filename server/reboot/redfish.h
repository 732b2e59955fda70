/*
 * What is read of a BMC's answers (Redfish, DSP0266 and the schema ComputerSystem): pure, and without trust. A path that an answer names is
 * used only if it lies below /redfish/v1/ and is made of the letters of one, so no answer sends us, or a password, elsewhere.
 */
#ifndef HOLDFAST_SERVER_REBOOT_REDFISH_H
#define HOLDFAST_SERVER_REBOOT_REDFISH_H

#include "base/enum.h"

#include <stdbool.h>
#include <stddef.h>

#define REDFISH_ROOT "/redfish/v1/"
#define REDFISH_PATH_MAX_BYTES 256
#define REDFISH_BYTES_MAX (256 * 1024) /* of one answer */
#define REDFISH_SAID_MAX_BYTES 160

#define REDFISH_RESET_LIST(X)              \
    X(ON, "On")                            \
    X(GRACEFUL_RESTART, "GracefulRestart") \
    X(FORCE_RESTART, "ForceRestart")       \
    X(POWER_CYCLE, "PowerCycle")
enum redfish_reset {
#define X(SYMBOL, text) REDFISH_RESET_##SYMBOL,
    REDFISH_RESET_LIST(X)
#undef X
};
ENUM_DECLARE(redfish_reset);

struct redfish_system {
    char reset_path[REDFISH_PATH_MAX_BYTES]; /* the target of ComputerSystem.Reset */
    bool resets_known;                       /* it says which kinds it offers: */
    unsigned resets;                         /* a bit for each of enum redfish_reset */
    bool is_off;
};

/* The only system that a BMC has. INVALID with a sentence (REDFISH_SAID_MAX_BYTES): no such answer; CONFLICT: there are several. */
int redfish_read_systems(const char *body, size_t len, char ret_path[REDFISH_PATH_MAX_BYTES], char *ret_why);
int redfish_read_system(const char *body, size_t len, struct redfish_system *ret_system, char *ret_why);
/* What an error says, in one printable line; "" for nothing. */
void redfish_read_error(const char *body, size_t len, char ret_said[REDFISH_SAID_MAX_BYTES]);
bool redfish_is_path(const char *path);

#endif
