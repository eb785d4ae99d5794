@about@
#ifndef @NAME@_H
#define @NAME@_H

#ifdef __cplusplus
extern "C" {
#endif

#define @NAME@_DT @dt@ /* s: the length of one step */
#define @NAME@_FREEDOMS @freedoms@

/* What a step has met; the highest that applies. */
typedef enum {
    @NAME@_OK = 0,
    @NAME@_STICKING = 1,   /* dry friction holds the object: the speed is exactly zero */
    @NAME@_AT_LIMIT = 2,   /* an end stop is pressed, a foot stands, or the mechanism is at the end of its reach */
    @NAME@_SATURATED = 3,  /* the wrench was beyond wrench_limit; the object has moved under the limit instead */
    @NAME@_NOT_FINITE = 4, /* the wrench is not finite or leads nowhere: braked, to a third of the speed in @brake_ms@ ms and
                           on to rest; or the state is not possible: held */
    @NAME@_NOT_READY = 5   /* @name@_init has not succeeded; the state is held */
} @name@_status;

/* The state is all there is: copy it to save it, copy it back to go on from it. */
typedef struct {
@state@
} @name@_state;

/* Parameters that may change while the model runs: change a copy, then @name@_init. */
typedef struct {
@parameters@
} @name@_parameters;

typedef struct {
    @name@_parameters parameters;
    double wrench_limit[6]; /* N, N m: the sensor's range; what is beyond it counts as the limit */
    int ready;
} @name@_model;

/* The parameters that were identified. */
@name@_parameters @name@_defaults(void);
/* The state in which the object begins. */
@name@_state @name@_rest(void);
/* Whether the object can be in this state: finite, within its reach, its quaternion one. No step is taken from others. */
int @name@_possible(const @name@_state *state);
/* 0, or the place (from 1) of the first parameter that no object can have; of a rigid body that of its mass. */
int @name@_check(const @name@_parameters *parameters);
/* Get ready with these parameters (NULL: the defaults) and this range of the sensor (NULL: @limit_words@).
   What is not possible gives NOT_READY, and no step is taken with it. */
@name@_status @name@_init(@name@_model *model, const @name@_parameters *parameters, const double wrench_limit[6]);
/* One step under a wrench (N, N m), @frame@:
@wrench_words@
   acceleration (NULL: not wanted) receives the mean of the step: @acceleration_words@. */
@name@_status @name@_step(const @name@_model *model, @name@_state *state, const double wrench[6],
    double acceleration[@NAME@_FREEDOMS]);
/* The acceleration at this instant, for another integrator: dry friction slips at its level, and is zero at rest. */
@name@_status @name@_acceleration(const @name@_model *model, const @name@_state *state, const double wrench[6],
    double acceleration[@NAME@_FREEDOMS]);

#ifdef __cplusplus
}
#endif
#endif
