/*
 * The AWS door's HTTP side: POST with X-Amz-Target, AWS JSON 1.1. What an operation means is in the files beside;
 * operation.h lists them.
 */
#ifndef HOLDFAST_API_AWS_DOOR_H
#define HOLDFAST_API_AWS_DOOR_H

#include "api/aws/validate.h"
#include "server/service/service.h"

struct api_call;

void aws_door(struct api_call *call);
/* A refusal from before the operation (a body too large, a server that stops), in this door's form. */
void aws_door_problem(struct api_call *call, enum problem_code code, const char *detail);

#endif
