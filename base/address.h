/*
 * Network addresses of machines as text: IPv4 and IPv6 without port, brackets or scope, in the one form that inet_ntop writes.
 */
#ifndef HOLDFAST_BASE_ADDRESS_H
#define HOLDFAST_BASE_ADDRESS_H

#include <stdbool.h>

#define ADDRESS_TEXT_MAX 46 /* INET6_ADDRSTRLEN */

struct sockaddr;

/* INVALID for what is no address of one machine: names, 0.0.0.0 and ::, multicast and broadcast. */
int address_parse(const char *text, char ret_address[ADDRESS_TEXT_MAX]);
/* An IPv4 address within an IPv6 one is written as the former; "" for another family. */
void address_of(const struct sockaddr *from, char ret_address[ADDRESS_TEXT_MAX]);
bool address_is_ipv6(const char *address);
/* Means another machine, or none, to whoever is elsewhere: loopback and link-local. True of "", too. */
bool address_is_only_here(const char *address);

#endif
