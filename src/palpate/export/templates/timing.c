/* Average, 99.9 % and worst time of a step, in microseconds. */
#define _POSIX_C_SOURCE 199309L
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "model.h"

static double now(clockid_t which)
{
    struct timespec t;
    clock_gettime(which, &t);
    return 1e6 * (double)t.tv_sec + 1e-3 * (double)t.tv_nsec;
}

enum { STEPS = 200000 };
static double took[STEPS];

static int order(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

int main(void)
{
    @name@_model model;
    @name@_state state = @name@_rest();
    double w[6] = {0.0}, acceleration[@NAME@_FREEDOMS], start, began, clock_us = 1e9;
    long i;
    if (@name@_init(&model, NULL, NULL) != @NAME@_OK)
        return 1;
    for (i = 0; i < 1000; i++) { /* what reading the clock takes is no part of a step */
        start = now(CLOCK_MONOTONIC);
        start = now(CLOCK_MONOTONIC) - start;
        clock_us = start < clock_us ? start : clock_us;
    }
    began = now(CLOCK_PROCESS_CPUTIME_ID);
    for (i = 0; i < STEPS; i++) {
        w[0] = 20.0 * sin(1.9e-3 * (double)i);
        w[5] = 20.0 * sin(1e-3 * (double)i);
        @name@_step(&model, &state, w, acceleration);
        if (i % 5000 == 0)
            state = @name@_rest();
    }
    began = (now(CLOCK_PROCESS_CPUTIME_ID) - began) / STEPS;
    state = @name@_rest();
    for (i = 0; i < STEPS; i++) {
        w[0] = 20.0 * sin(1.9e-3 * (double)i);
        w[5] = 20.0 * sin(1e-3 * (double)i);
        start = now(CLOCK_MONOTONIC);
        @name@_step(&model, &state, w, acceleration);
        took[i] = now(CLOCK_MONOTONIC) - start - clock_us;
        if (i % 5000 == 0)
            state = @name@_rest();
    }
    qsort(took, STEPS, sizeof *took, order);
    printf("%.17g %.17g %.17g\n", began, took[STEPS / 1000 * 999], took[STEPS - 1]);
    return 0;
}
