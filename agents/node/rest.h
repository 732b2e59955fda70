/*
 * Returns memory to the system after start.
 */
#ifndef HOLDFAST_AGENTS_NODE_REST_H
#define HOLDFAST_AGENTS_NODE_REST_H

/* Lets go of pages of code and constants and of freed heap. What is needed again is mapped again by the kernel, from its
 * cache, page by page; so call it after something large that is rare, like a TLS handshake, never often. */
void rest(void);

#endif
