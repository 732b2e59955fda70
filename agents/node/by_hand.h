/*
 * "hp-agent check": the checks once, for people and for programs that ask by exit code. No server, and of the
 * state directory only what the server said last. "hp-agent settings": what counts, and whose word it is.
 */
#ifndef HOLDFAST_AGENTS_NODE_BY_HAND_H
#define HOLDFAST_AGENTS_NODE_BY_HAND_H

/* argv[0] is "check". Returns the exit code: 0 nothing wrong, 1 something found, 2 wrong usage, 3 something unknown. */
int by_hand(int argc, char **argv);
int by_hand_settings(int argc, char **argv);

#endif
