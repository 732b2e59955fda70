/* A real Slurm, its programs run by a real sshd. */
#include "tests/unit/server/slurm_live.h"

int main(void)
{
    return slurm_live(WAY_SSH);
}
