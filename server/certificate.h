/* hpd's certificate: which names it has to have, and where it is from. */
#ifndef HOLDFAST_SERVER_CERTIFICATE_H
#define HOLDFAST_SERVER_CERTIFICATE_H

#include "base/tls.h"
#include "server/config/config.h"

#define CERTIFICATE_ERROR_MAX 512

/* Loads, makes or renews it. On loopback without a configured one there is none: ret_pair is then left empty. A status with a sentence. */
int certificate_prepare(const struct config *config, struct tls_pair *ret_pair, char ret_error[CERTIFICATE_ERROR_MAX]);

#endif
