/* A real Slurm, asked by way of a real slurmrestd over TCP. */
#include "tests/unit/server/slurm_live.h"

int main(void)
{
    return slurm_live(WAY_REST);
}
