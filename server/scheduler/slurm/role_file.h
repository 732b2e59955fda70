/* provisioning_parameters.json: what groups are to Slurm. Pure. */
#ifndef HOLDFAST_SERVER_SCHEDULER_SLURM_ROLE_FILE_H
#define HOLDFAST_SERVER_SCHEDULER_SLURM_ROLE_FILE_H

#include "model/role_file.h"

extern const struct role_file_format slurm_role_file;

#endif
