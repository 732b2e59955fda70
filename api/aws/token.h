/* The text of a NextToken: a place in one list in one order, opaque to clients. */
#ifndef HOLDFAST_API_AWS_TOKEN_H
#define HOLDFAST_API_AWS_TOKEN_H

#define AWS_TOKEN_MAX 128
#define AWS_TOKEN_KEY_MAX 64 /* a name fits */

/* list says which list in which order. key is not empty. */
void aws_token_encode(const char *list, const char *key, char ret_token[AWS_TOKEN_MAX]);
/* INVALID unless it is exactly what aws_token_encode made for this list. */
int aws_token_decode(const char *token, const char *list, char ret_key[AWS_TOKEN_KEY_MAX]);

#endif
