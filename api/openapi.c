/* The contract of record, carried in the binary and served as it is. */
#include "base/embed.h"

EMBED(openapi, "openapi.yaml");
