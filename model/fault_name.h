/*
 * The names in what agents report: of a code and of a device. They stand in events, explanations, log lines and commands, so they
 * have few characters: none that a shell, a terminal or a label reads as anything else.
 */
#ifndef HOLDFAST_MODEL_FAULT_NAME_H
#define HOLDFAST_MODEL_FAULT_NAME_H

#include "model/limits.h"

#include <stdbool.h>
#include <stddef.h>

#define FAULT_CODE_RULE "words of a to z and 0 to 9 with a dot or a hyphen between, like xid.79"
#define FAULT_DEVICE_RULE "letters, digits and _ - . : / @ # +, like 0000:b9:00 or mlx5_0/1"

/* "xid.79", "net.ib.error-rate": FAULT_CODE_RULE, the first begins with a letter; shorter than CODE_MAX_BYTES. */
bool fault_name_is_code(const char *text);
/* "0000:b9:00", "GPU-5d5ba0d6-…", "/fsx", "10.1.0.4@o2ib": FAULT_DEVICE_RULE, one letter, digit or "/" at least; shorter than DEVICE_MAX_BYTES.
 * "", the node itself, is none. */
bool fault_name_is_device(const char *text);
/* What such names have; all else that an agent finds in a name becomes "_". */
bool fault_name_has(char c);
/* What an agent found, as the name of a device: "/mnt/a=b" is "/mnt/a_b", and a name of marks alone begins with "x". "" stays. */
void fault_name_make_device(char *name);

#endif
