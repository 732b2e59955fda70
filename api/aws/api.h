/*
 * The AWS API's HTTP side: POST with X-Amz-Target, AWS JSON 1.1. What an operation means is in the files beside;
 * operation.h lists them.
 */
#ifndef HOLDFAST_API_AWS_API_H
#define HOLDFAST_API_AWS_API_H

#include "api/aws/validate.h"
#include "server/service/service.h"

struct api_call;

void aws_api_call(struct api_call *call);
/* A refusal from before the operation (a body too large, a server that stops), in this API's form. */
void aws_api_problem(struct api_call *call, enum problem_code code, const char *detail);

#endif
