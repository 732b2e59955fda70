/* hpctl simulate: what its files share. */
#ifndef HOLDFAST_CLI_SIMULATE_H
#define HOLDFAST_CLI_SIMULATE_H

#include "cli/cli.h"
#include "cli/plot.h"
#include "simulate/simulate.h"

#define SIMULATION_POINTS_MAX 128

/* One scenario, run with one seed or more. */
struct simulation {
    struct simulate_scenario scenario;
    struct simulate_outcome *outcomes; /* owned; runs of them, by seed */
    int64_t runs;
    int64_t value;                        /* of the number that is swept */
    const char *policy;                   /* file of the document that decides; NULL: the defaults do */
    struct simulate_outcome *by_defaults; /* with a document: what the same seeds come to without one; owned */
};

/* The mean over all runs of a number of the outcome, by its place. */
#define SIMULATION_MEAN(simulation, member)                       \
    __extension__({                                               \
        double sum_ = 0;                                          \
        for (int64_t run_ = 0; run_ < (simulation)->runs; run_++) \
            sum_ += (double)(simulation)->outcomes[run_].member;  \
        sum_ / (double)(simulation)->runs;                        \
    })

/* --- simulate_input.c: what is wanted. The document is the caller's, who frees it. */
int simulation_take(struct cli *cli, struct simulate_scenario *ret_scenario, struct policy_document **ret_document);

/* --- simulate_print.c: for people */
void simulation_print(struct cli *cli, const struct simulation *simulation);
void simulation_print_sweep(struct cli *cli, const struct simulation *points, size_t count, enum simulate_number swept);
void simulation_svg(const struct simulation *simulation, struct text *ret_svg);
void simulation_sweep_svg(const struct simulation *points, size_t count, enum simulate_number swept,
                          struct text *ret_svg);

/* --- simulate_json.c: for notebooks */
json_t *simulation_json(const struct simulation *simulation);
json_t *simulation_profiles_json(void);
/* A number as it is written in a scenario. */
const char *simulation_value(enum simulate_number number, int64_t value, char *ret_text, size_t size);

#endif
