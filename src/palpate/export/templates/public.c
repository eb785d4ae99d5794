static void pack(const @name@_state *state, double *s)
{
@pack@
}

static void unpack(const double *s, @name@_state *state)
{
@unpack@
}

#if BODIES_
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
    static const double s[NS_] = {@rest@};
    unpack(s, &state);
    return state;
}

int @name@_possible(const @name@_state *state)
{
    double s[NS_], sum = 0.0;
    int i;
    pack(state, s);
    for (i = 0; i < NS_; i++)
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
    model->ready = READY_;
    return @NAME@_OK;
}

/* One step without a wrench, on which the speeds fade; springs and weight never speed it up, nor turn it round. */
static void brake(const @name@_model *model, const double *s, double *out)
{
    static const double nothing[6] = {0.0};
    double slow[NS_], sum = 0.0, along = 0.0, had = 0.0, has = 0.0;
    const double *u = out + NQ_;
    int i, goes;
    memcpy(slow, s, sizeof slow);
    for (i = NQ_; i < NQ_ + N_; i++)
        slow[i] = KEEP_ * s[i];
    goes = advance(&model->parameters, slow, nothing, out) != @NAME@_NOT_FINITE;
    for (i = 0; i < NS_ + N_; i++)
        sum += out[i];
    for (i = 0; i < N_; i++) {
        along += u[i] * slow[NQ_ + i];
        had += slow[NQ_ + i] * slow[NQ_ + i];
        has += u[i] * u[i];
    }
    if (!goes || !isfinite(sum) || !(along > 0.0)) {
        memcpy(out, s, NS_ * sizeof *out);
        for (i = NQ_; i < NQ_ + N_; i++)
            out[i] = 0.0;
    } else if (has > had) {
        const double part = sqrt(had / has);
        for (i = 0; i < NS_; i++)
            if (i < NQ_ || i >= NQ_ + N_)
                out[i] = s[i] + part * (out[i] - s[i]);
        for (i = NQ_; i < NQ_ + N_; i++)
            out[i] = part * out[i];
#if PLAIN_ < NQ_
        {
            double size = 0.0;
            for (i = PLAIN_; i < NQ_; i++)
                size += out[i] * out[i];
            size = sqrt(size);
            for (i = PLAIN_; i < NQ_; i++)
                out[i] /= size;
        }
#endif
    }
    sum = 0.0;
    for (i = 0; i < N_; i++) {
        out[NS_ + i] = (out[NQ_ + i] - s[NQ_ + i]) / DT_;
        sum += out[NS_ + i];
    }
    for (i = 0; i < N_ && !isfinite(sum); i++)
        out[NS_ + i] = 0.0;
}

@name@_status @name@_step(const @name@_model *model, @name@_state *state, const double wrench[6],
    double acceleration[@NAME@_FREEDOMS])
{
    double s[NS_], out[NS_ + N_], w[6], sum = 0.0;
    int i, status, beyond = 0;
    if (acceleration != NULL)
        for (i = 0; i < N_; i++)
            acceleration[i] = 0.0;
    if (model->ready != READY_)
        return @NAME@_NOT_READY;
    if (!@name@_possible(state))
        return @NAME@_NOT_FINITE;
    for (i = 0; i < 6; i++)
        sum += wrench[i];
    for (i = 0; i < 6; i++) {
        const double most = model->wrench_limit[i];
        w[i] = wrench[i] > most ? most : wrench[i] < -most ? -most : wrench[i];
        beyond = beyond || w[i] != wrench[i];
    }
    pack(state, s);
    status = @NAME@_NOT_FINITE;
    if (isfinite(sum)) {
        status = advance(&model->parameters, s, w, out);
        for (sum = 0.0, i = 0; i < NS_ + N_; i++)
            sum += out[i];
    }
    if (status == @NAME@_NOT_FINITE || !isfinite(sum)) {
        brake(model, s, out);
        status = @NAME@_NOT_FINITE;
        beyond = 0;
    }
    unpack(out, state);
    if (acceleration != NULL)
        memcpy(acceleration, out + NS_, N_ * sizeof *acceleration);
    return beyond ? @NAME@_SATURATED : (@name@_status)status;
}

@name@_status @name@_acceleration(const @name@_model *model, const @name@_state *state, const double wrench[6],
    double acceleration[@NAME@_FREEDOMS])
{
    double s[NS_], found[N_], sum = 0.0;
    int i;
    for (i = 0; i < N_; i++)
        acceleration[i] = 0.0;
    if (model->ready != READY_)
        return @NAME@_NOT_READY;
    pack(state, s);
    k_forward(&model->parameters, s, wrench, found);
    for (i = 0; i < N_; i++)
        sum += found[i];
    if (!isfinite(sum))
        return @NAME@_NOT_FINITE;
    memcpy(acceleration, found, sizeof found);
    return @NAME@_OK;
}
