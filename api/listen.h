/* Listening sockets: one address, as many sockets as there are workers (SO_REUSEPORT). */
#ifndef HOLDFAST_API_LISTEN_H
#define HOLDFAST_API_LISTEN_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#define LISTEN_BACKLOG 4096

/* Opens count sockets on "host:port" ("[::1]:0" for IPv6); port 0 lets the kernel choose one for all. UNAVAILABLE when another
 * process has the address (SO_REUSEPORT alone would share it in silence), INVALID, IO; with a sentence. */
int listen_open(const char *address, int count, int *ret_fds, uint16_t *ret_port, char *ret_error, size_t error_size);
/* True when nobody but this machine can reach the address; false also for one that cannot be read. */
bool listen_is_loopback(const char *address);
bool listen_peer_is_loopback(const struct sockaddr *peer);

#endif
