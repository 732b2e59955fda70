/*
 * The commands of HyperPod's operator: /start, /update, /stop, /shutdown and /status, with the bodies and replies of HyperPod's agent.
 *
 * What differs is on purpose: a move that the states do not have is refused (409), where theirs answers 200 and writes a line into its log;
 * a request that is repeated is answered as the first one; an unknown path is 404; and where a token file is given, a request
 * without the token is 401.
 */
#ifndef HOLDFAST_AGENTS_LAUNCHER_API_H
#define HOLDFAST_AGENTS_LAUNCHER_API_H

#include "agents/launcher/launcher.h"

#define API_BODY_BYTES_MAX (8 << 20) /* addresses of 100,000 ranks */
#define API_VERSION "1.1.3"          /* of the agent whose contract this is */

struct api_reply {
    int status;
    char *body; /* JSON or empty; never NULL. Caller frees. */
};

/* authorization is the header's value, or NULL. */
struct api_reply api_handle(struct launcher *launcher, const char *method, const char *path, const char *authorization,
                            const char *body, size_t len);

#endif
