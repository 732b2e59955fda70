/* A real Slurm, its programs run here. */
#include "tests/unit/server/slurm_live.h"

int main(void)
{
    return slurm_live(WAY_HERE);
}
