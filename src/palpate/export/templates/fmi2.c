@about@
/* FMI 2.0 co-simulation (Modelica Association, Functional Mock-up Interface 2.0.4) around model.c: fixed steps inside. */
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "model.h"

#if defined _WIN32
#define FMI2_EXPORT_ __declspec(dllexport)
#elif defined __GNUC__
#define FMI2_EXPORT_ __attribute__((visibility("default")))
#else
#define FMI2_EXPORT_
#endif

typedef void *fmi2Component;
typedef void *fmi2ComponentEnvironment;
typedef void *fmi2FMUstate;
typedef unsigned int fmi2ValueReference;
typedef double fmi2Real;
typedef int fmi2Integer;
typedef int fmi2Boolean;
typedef const char *fmi2String;
typedef char fmi2Byte;
typedef enum { fmi2OK, fmi2Warning, fmi2Discard, fmi2Error, fmi2Fatal, fmi2Pending } fmi2Status;
typedef enum { fmi2ModelExchange, fmi2CoSimulation } fmi2Type;
typedef enum { fmi2DoStepStatus, fmi2PendingStatus, fmi2LastSuccessfulTime, fmi2Terminated } fmi2StatusKind;
typedef struct {
    void (*logger)(fmi2ComponentEnvironment, fmi2String, fmi2Status, fmi2String, fmi2String, ...);
    void *(*allocateMemory)(size_t, size_t);
    void (*freeMemory)(void *);
    void (*stepFinished)(fmi2ComponentEnvironment, fmi2Status);
    fmi2ComponentEnvironment componentEnvironment;
} fmi2CallbackFunctions;

#define GUID_ "@guid@"
#define MOST_STEPS_ 1e6 /* inside of one communication step: seconds of computing, not hours */
enum { INPUTS = 6, STATES = @states@, FREEDOMS = @NAME@_FREEDOMS, PARAMETERS = @count@ };
enum { REALS = INPUTS + STATES + FREEDOMS + PARAMETERS };

/* All that may be saved and restored. The numbers are in the order of their value references. */
typedef struct {
    double reals[REALS];
    double start, steps; /* when it began (s), and how many steps it has taken since */
    int status, changed, running;
    @name@_model model;
} Memory;

typedef struct {
    Memory now;
    fmi2CallbackFunctions functions;
    int logging;
    char name[64];
} Instance;

static double *states(Memory *m) { return m->reals + INPUTS; }

static double *accelerations(Memory *m) { return m->reals + INPUTS + STATES; }

static void begin(Memory *m)
{
    static const double first[REALS] = {@reals@};
    memset(m, 0, sizeof *m);
    memcpy(m->reals, first, sizeof first);
    m->changed = 1;
}

static fmi2Status tell(Instance *it, fmi2Status status, const char *message)
{
    if (it->functions.logger != NULL && (it->logging || status != fmi2OK))
        it->functions.logger(it->functions.componentEnvironment, it->name, status,
                             status == fmi2OK ? "logAll" : "logStatusWarning", "%s", message);
    return status;
}

/* Take over parameters that were set; what no object can have is told, and no step is taken with it. */
static fmi2Status ready(Instance *it)
{
    @name@_parameters p;
    const double *x = it->now.reals + INPUTS + STATES + FREEDOMS;
    char text[80];
    if (!it->now.changed)
        return it->now.model.ready ? fmi2OK : fmi2Warning;
    it->now.changed = 0;
@set_parameters@
    if (@name@_init(&it->now.model, &p, NULL) == @NAME@_OK)
        return fmi2OK;
    sprintf(text, "parameter %d (from 1) has a value that is not possible", @name@_check(&p));
    return tell(it, fmi2Warning, text);
}

FMI2_EXPORT_ const char *fmi2GetTypesPlatform(void) { return "default"; }

FMI2_EXPORT_ const char *fmi2GetVersion(void) { return "2.0"; }

FMI2_EXPORT_ fmi2Component fmi2Instantiate(fmi2String name, fmi2Type type, fmi2String guid, fmi2String resources,
                                          const fmi2CallbackFunctions *functions, fmi2Boolean visible,
                                          fmi2Boolean logging)
{
    Instance *it;
    (void)resources, (void)visible;
    if (functions == NULL || functions->allocateMemory == NULL || functions->freeMemory == NULL)
        return NULL;
    if (type != fmi2CoSimulation || guid == NULL || strcmp(guid, GUID_) != 0) {
        if (functions->logger != NULL)
            functions->logger(functions->componentEnvironment, name, fmi2Error, "logStatusError", "%s",
                              type != fmi2CoSimulation ? "this is an FMU for co-simulation" : "the guid is another FMU's");
        return NULL;
    }
    it = functions->allocateMemory(1, sizeof *it);
    if (it == NULL)
        return NULL;
    it->functions = *functions;
    it->logging = logging;
    it->name[0] = '\0';
    strncat(it->name, name != NULL ? name : "@name@", sizeof it->name - 1);
    begin(&it->now);
    return it;
}

FMI2_EXPORT_ void fmi2FreeInstance(fmi2Component c)
{
    if (c != NULL)
        ((Instance *)c)->functions.freeMemory(c);
}

FMI2_EXPORT_ fmi2Status fmi2SetDebugLogging(fmi2Component c, fmi2Boolean on, size_t count, const fmi2String categories[])
{
    (void)count, (void)categories;
    ((Instance *)c)->logging = on;
    return fmi2OK;
}

FMI2_EXPORT_ fmi2Status fmi2SetupExperiment(fmi2Component c, fmi2Boolean has_tolerance, fmi2Real tolerance,
                                           fmi2Real start, fmi2Boolean has_stop, fmi2Real stop)
{
    (void)has_tolerance, (void)tolerance, (void)has_stop, (void)stop;
    if (!isfinite(start))
        return tell(c, fmi2Error, "the start time is not finite");
    ((Instance *)c)->now.start = start;
    return fmi2OK;
}

FMI2_EXPORT_ fmi2Status fmi2EnterInitializationMode(fmi2Component c) { return c != NULL ? fmi2OK : fmi2Error; }

FMI2_EXPORT_ fmi2Status fmi2ExitInitializationMode(fmi2Component c)
{
    Instance *it = c;
    @name@_state state;
    const double *x = states(&it->now);
@set_state@
    if (ready(it) != fmi2OK)
        return fmi2Error;
    if (!@name@_possible(&state))
        return tell(it, fmi2Error, "the state to begin with is not possible");
    it->now.running = 1;
    return fmi2OK;
}

FMI2_EXPORT_ fmi2Status fmi2Terminate(fmi2Component c) { return c != NULL ? fmi2OK : fmi2Error; }

FMI2_EXPORT_ fmi2Status fmi2Reset(fmi2Component c)
{
    begin(&((Instance *)c)->now);
    return fmi2OK;
}

FMI2_EXPORT_ fmi2Status fmi2GetReal(fmi2Component c, const fmi2ValueReference vr[], size_t count, fmi2Real value[])
{
    size_t i;
    for (i = 0; i < count; i++) {
        if (vr[i] >= REALS)
            return tell(c, fmi2Error, "there is no such real variable");
        value[i] = ((Instance *)c)->now.reals[vr[i]];
    }
    return fmi2OK;
}

FMI2_EXPORT_ fmi2Status fmi2SetReal(fmi2Component c, const fmi2ValueReference vr[], size_t count, const fmi2Real value[])
{
    Memory *now = &((Instance *)c)->now;
    size_t i;
    for (i = 0; i < count; i++) {
        const int parameter = vr[i] >= INPUTS + STATES + FREEDOMS;
        if (vr[i] >= REALS || (vr[i] >= INPUTS && !parameter && (now->running || vr[i] >= INPUTS + STATES)))
            return tell(c, fmi2Error, "this variable cannot be set, or not any more");
        if (parameter)
            now->changed = 1;
        now->reals[vr[i]] = value[i];
    }
    return fmi2OK;
}

FMI2_EXPORT_ fmi2Status fmi2GetInteger(fmi2Component c, const fmi2ValueReference vr[], size_t count, fmi2Integer value[])
{
    size_t i;
    for (i = 0; i < count; i++) {
        if (vr[i] != 0)
            return tell(c, fmi2Error, "there is no such integer variable");
        value[i] = ((Instance *)c)->now.status;
    }
    return fmi2OK;
}

/* Variables of kinds that the model does not have, or that nobody can set. */
#define NONE_(function, type, message)                                                                           \
    FMI2_EXPORT_ fmi2Status function(fmi2Component c, const fmi2ValueReference vr[], size_t count, type value[]) \
    {                                                                                                            \
        (void)vr, (void)value;                                                                                   \
        return count == 0 ? fmi2OK : tell(c, fmi2Error, message);                                                \
    }
NONE_(fmi2SetInteger, const fmi2Integer, "no integer variable can be set")
NONE_(fmi2GetBoolean, fmi2Boolean, "there is no boolean variable")
NONE_(fmi2SetBoolean, const fmi2Boolean, "there is no boolean variable")
NONE_(fmi2GetString, fmi2String, "there is no string variable")
NONE_(fmi2SetString, const fmi2String, "there is no string variable")

/* Copy a state to where the caller keeps it. */
static fmi2Status keep(Instance *it, fmi2FMUstate *saved, const void *state)
{
    if (*saved == NULL)
        *saved = it->functions.allocateMemory(1, sizeof it->now);
    if (*saved == NULL)
        return tell(it, fmi2Error, "there is no memory for the state");
    memcpy(*saved, state, sizeof it->now);
    return fmi2OK;
}

FMI2_EXPORT_ fmi2Status fmi2GetFMUstate(fmi2Component c, fmi2FMUstate *saved)
{
    return keep(c, saved, &((Instance *)c)->now);
}

FMI2_EXPORT_ fmi2Status fmi2SetFMUstate(fmi2Component c, fmi2FMUstate saved)
{
    memcpy(&((Instance *)c)->now, saved, sizeof(Memory));
    return fmi2OK;
}

FMI2_EXPORT_ fmi2Status fmi2FreeFMUstate(fmi2Component c, fmi2FMUstate *saved)
{
    if (saved != NULL && *saved != NULL) {
        ((Instance *)c)->functions.freeMemory(*saved);
        *saved = NULL;
    }
    return fmi2OK;
}

FMI2_EXPORT_ fmi2Status fmi2SerializedFMUstateSize(fmi2Component c, fmi2FMUstate saved, size_t *size)
{
    (void)c, (void)saved;
    *size = sizeof(Memory);
    return fmi2OK;
}

FMI2_EXPORT_ fmi2Status fmi2SerializeFMUstate(fmi2Component c, fmi2FMUstate saved, fmi2Byte bytes[], size_t size)
{
    if (size < sizeof(Memory))
        return tell(c, fmi2Error, "the state does not fit");
    memcpy(bytes, saved, sizeof(Memory));
    return fmi2OK;
}

FMI2_EXPORT_ fmi2Status fmi2DeSerializeFMUstate(fmi2Component c, const fmi2Byte bytes[], size_t size, fmi2FMUstate *saved)
{
    return size == sizeof(Memory) ? keep(c, saved, bytes) : tell(c, fmi2Error, "this is no state of this FMU");
}

FMI2_EXPORT_ fmi2Status fmi2GetDirectionalDerivative(fmi2Component c, const fmi2ValueReference unknown[], size_t unknowns,
                                                    const fmi2ValueReference known[], size_t knowns,
                                                    const fmi2Real by[], fmi2Real value[])
{
    (void)unknown, (void)unknowns, (void)known, (void)knowns, (void)by, (void)value;
    return tell(c, fmi2Error, "directional derivatives are not offered");
}

FMI2_EXPORT_ fmi2Status fmi2SetRealInputDerivatives(fmi2Component c, const fmi2ValueReference vr[], size_t count,
                                                   const fmi2Integer order[], const fmi2Real value[])
{
    (void)vr, (void)count, (void)order, (void)value;
    return tell(c, fmi2Error, "inputs are held, not interpolated");
}

FMI2_EXPORT_ fmi2Status fmi2GetRealOutputDerivatives(fmi2Component c, const fmi2ValueReference vr[], size_t count,
                                                    const fmi2Integer order[], fmi2Real value[])
{
    (void)vr, (void)count, (void)order, (void)value;
    return tell(c, fmi2Error, "derivatives of outputs are not offered");
}

/* As many whole steps as fit until the end of the communication step; what is left over is taken in the next. */
FMI2_EXPORT_ fmi2Status fmi2DoStep(fmi2Component c, fmi2Real time, fmi2Real length, fmi2Boolean no_set_before)
{
    Instance *it = c;
    Memory *now = &it->now;
    @name@_state state;
    double *x = states(now), end = (time + length - now->start) / @NAME@_DT;
    (void)no_set_before;
    if (!now->running || !isfinite(end) || !(length >= 0.0))
        return tell(it, fmi2Error, "a step needs an initialised FMU, a finite time and a length of at least zero");
    end = floor(end + 1e-6 + 1e-12 * fabs(end));
    if (end - now->steps > MOST_STEPS_)
        return tell(it, fmi2Discard, "this communication step is longer than a million steps inside: take shorter ones");
    if (ready(it) != fmi2OK) {
        now->status = @NAME@_NOT_READY;
        now->steps = end;
        return fmi2Warning;
    }
    now->status = @NAME@_OK;
@set_state@
    for (; now->steps < end; now->steps += 1.0) {
        const int status = @name@_step(&now->model, &state, now->reals, accelerations(now));
        now->status = status > now->status ? status : now->status;
    }
@get_state@
    return now->status >= @NAME@_NOT_FINITE ? tell(it, fmi2Warning, "the wrench is not finite: the object is braked") : fmi2OK;
}

FMI2_EXPORT_ fmi2Status fmi2CancelStep(fmi2Component c) { return tell(c, fmi2Error, "steps do not run in the background"); }

/* Statuses that a step in the foreground never has. */
#define NO_STATUS_(function, type, nothing)                                                       \
    FMI2_EXPORT_ fmi2Status function(fmi2Component c, const fmi2StatusKind kind, type *value)     \
    {                                                                                             \
        (void)c, (void)kind;                                                                      \
        *value = nothing;                                                                         \
        return fmi2Discard;                                                                       \
    }
NO_STATUS_(fmi2GetStatus, fmi2Status, fmi2OK)
NO_STATUS_(fmi2GetIntegerStatus, fmi2Integer, 0)
NO_STATUS_(fmi2GetStringStatus, fmi2String, "")

FMI2_EXPORT_ fmi2Status fmi2GetRealStatus(fmi2Component c, const fmi2StatusKind kind, fmi2Real *value)
{
    const Memory *now = &((Instance *)c)->now;
    if (kind != fmi2LastSuccessfulTime)
        return fmi2Discard;
    *value = now->start + now->steps * @NAME@_DT;
    return fmi2OK;
}

FMI2_EXPORT_ fmi2Status fmi2GetBooleanStatus(fmi2Component c, const fmi2StatusKind kind, fmi2Boolean *value)
{
    (void)c;
    *value = 0;
    return kind == fmi2Terminated ? fmi2OK : fmi2Discard;
}
