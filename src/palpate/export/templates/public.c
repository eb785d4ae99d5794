static void pack(const @name@_state *state, double *s)
{
@pack@
}

static void unpack(const double *s, @name@_state *state)
{
@unpack@
}

#if BODIES
/* Whether a body of positive density can have these ten: its spread of mass about the centre is positive definite. */
static int is_solid(const double *phi)
{
    const double m = phi[0], half = 0.5 * (phi[4] + phi[7] + phi[9]);
    double a, b, c, d, e, f, least, l21, l31, l32, l11, l22;
    if (!(m > 0.0))
        return 0;
    a = half - phi[4] - phi[1] * phi[1] / m;
    b = half - phi[7] - phi[2] * phi[2] / m;
    c = half - phi[9] - phi[3] * phi[3] / m;
    d = -phi[5] - phi[1] * phi[2] / m;
    e = -phi[6] - phi[1] * phi[3] / m;
    f = -phi[8] - phi[2] * phi[3] / m;
    least = 1e-13 * ((phi[1] * phi[1] + phi[2] * phi[2] + phi[3] * phi[3]) / m + (a + b + c) / 3.0);
    l11 = a - least;
    if (!(l11 > 0.0))
        return 0;
    l21 = d / l11;
    l31 = e / l11;
    l22 = b - least - d * l21;
    if (!(l22 > 0.0))
        return 0;
    l32 = f - e * l21;
    return c - least - e * l31 - l32 * l32 / l22 > 0.0;
}
#endif

@name@_parameters @name@_defaults(void)
{
    @name@_parameters p;
@defaults@
    return p;
}

@name@_state @name@_rest(void)
{
    @name@_state state;
    static const double s[NQ + N] = {@rest@};
    unpack(s, &state);
    return state;
}

int @name@_possible(const @name@_state *state)
{
    double s[NQ + N], sum = 0.0;
    int i;
    pack(state, s);
    for (i = 0; i < NQ + N; i++)
        sum += s[i];
    return isfinite(sum)@possible@;
}

int @name@_check(const @name@_parameters *p)
{
    int first = 0;
@check@
    return first;
}

@name@_status @name@_init(@name@_model *model, const @name@_parameters *parameters, const double wrench_limit[6])
{
    static const double range[6] = {@limit@};
    int i;
    model->ready = 0;
    model->parameters = parameters != NULL ? *parameters : @name@_defaults();
    for (i = 0; i < 6; i++) {
        model->wrench_limit[i] = wrench_limit != NULL ? wrench_limit[i] : range[i];
        if (!(model->wrench_limit[i] > 0.0))
            return @NAME@_NOT_READY;
    }
    if (@name@_check(&model->parameters) != 0)
        return @NAME@_NOT_READY;
    model->ready = READY;
    return @NAME@_OK;
}

@name@_status @name@_step(const @name@_model *model, @name@_state *state, const double wrench[6],
    double acceleration[@NAME@_FREEDOMS])
{
    double s[NQ + N], out[NQ + 2 * N], w[6], sum = 0.0;
    int i, status, beyond = 0;
    if (acceleration != NULL)
        for (i = 0; i < N; i++)
            acceleration[i] = 0.0;
    if (model->ready != READY)
        return @NAME@_NOT_READY;
    for (i = 0; i < 6; i++)
        sum += wrench[i];
    if (!isfinite(sum) || !@name@_possible(state))
        return @NAME@_NOT_FINITE;
    for (i = 0; i < 6; i++) {
        const double most = model->wrench_limit[i];
        w[i] = wrench[i] > most ? most : wrench[i] < -most ? -most : wrench[i];
        beyond = beyond || w[i] != wrench[i];
    }
    pack(state, s);
    status = advance(&model->parameters, s, w, out);
    for (i = 0; i < NQ + 2 * N; i++)
        sum += out[i];
    if (status == @NAME@_NOT_FINITE || !isfinite(sum))
        return @NAME@_NOT_FINITE;
    unpack(out, state);
    if (acceleration != NULL)
        memcpy(acceleration, out + NQ + N, N * sizeof *acceleration);
    return beyond ? @NAME@_SATURATED : (@name@_status)status;
}

@name@_status @name@_acceleration(const @name@_model *model, const @name@_state *state, const double wrench[6],
    double acceleration[@NAME@_FREEDOMS])
{
    double s[NQ + N], rows[N * (N + 1)], sum = 0.0;
    int i, solved;
    for (i = 0; i < N; i++)
        acceleration[i] = 0.0;
    if (model->ready != READY)
        return @NAME@_NOT_READY;
    pack(state, s);
    k_forward(&model->parameters, s, wrench, rows);
    solved = solve(rows, N, N + 1);
    for (i = 0; i < N; i++)
        sum += rows[i * (N + 1) + N];
    if (!solved || !isfinite(sum))
        return @NAME@_NOT_FINITE;
    for (i = 0; i < N; i++)
        acceleration[i] = rows[i * (N + 1) + N];
    return @NAME@_OK;
}
