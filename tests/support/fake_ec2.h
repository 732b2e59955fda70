/*
 * An EC2 of few instances on the loopback, in a thread of the test: it keeps client tokens and tags as EC2 does, counts what was done to
 * each instance, and can be told to refuse, to hide, to lose its answers and to answer what no EC2 answers.
 */
#ifndef HOLDFAST_TESTS_SUPPORT_FAKE_EC2_H
#define HOLDFAST_TESTS_SUPPORT_FAKE_EC2_H

#include "base/text.h"

#include <pthread.h>

#define FAKE_EC2_INSTANCES_MAX 256

struct fake_ec2_instance {
    char id[24], token[80], subnet[48], type[64], provider[80], instance_id[32], launch[80];
    char state[16], parameters[80]; /* the hash of what was asked for under the token */
    int boots;                      /* its time of start follows from it */
    int reboots, stops, starts, ends;
    int hidden; /* so many descriptions do not show it */
};

struct fake_ec2 {
    pthread_mutex_t lock; /* guards what follows */
    struct fake_ec2_instance instances[FAKE_EC2_INSTANCES_MAX];
    int count;
    char full[128];                      /* subnets without capacity, with blanks between */
    char fail_action[48], fail_code[64]; /* such calls are refused by this code, … */
    int fail_status, fail_times;         /* … so often */
    char lose_action[48];                /* such calls are done, and not answered, … */
    int lose_times;                      /* … so often */
    const char *raw;                     /* answered to everything instead; NULL: nothing */
    int raw_status;
    int page_max;            /* instances of a page; 0: as many as are asked for */
    int padding;             /* bytes that each instance has beside: network interfaces */
    int hide;                /* what is launched from now on is hidden for so many descriptions */
    const char *status_item; /* what DescribeInstanceStatus has */
    const char *spot_item;   /* what DescribeSpotInstanceRequests has */
    struct text seen;        /* the bodies, a line each */
    int calls, throttled;
    struct fake_server *server;
    struct text answer;
};

void fake_ec2_start(struct fake_ec2 *ec2);
void fake_ec2_stop(struct fake_ec2 *ec2);
const char *fake_ec2_url(const struct fake_ec2 *ec2);
/* How often the word is in what was asked. */
int fake_ec2_heard(struct fake_ec2 *ec2, const char *word);
void fake_ec2_forget(struct fake_ec2 *ec2);

#endif
