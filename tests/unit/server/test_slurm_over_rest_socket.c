/* A real Slurm, asked by way of a real slurmrestd over its Unix socket. */
#include "tests/unit/server/slurm_live.h"

int main(void)
{
    return slurm_live(WAY_REST_SOCKET);
}
