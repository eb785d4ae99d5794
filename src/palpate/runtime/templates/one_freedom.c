static int same_side(double a, double b)
{
    return (a > 0.0) == (b > 0.0) && (a < 0.0) == (b < 0.0);
}

/* What the kernels are given: position, speed, what elements remember, and the position `ahead`. */
static void given(double q, double v, const double *memory, double ahead, double *s)
{
    int i;
    s[0] = q;
    s[1] = v;
    for (i = 0; i < M_; i++)
        s[2 + i] = memory[i];
    s[2 + M_] = ahead;
}

/* The new speed if the stops are as pressed as at the position `ahead`, how much that is, and the status. */
static double towards(const @name@_parameters *p, double q, double v, const double *memory, double ahead,
                      const double *w, double dt, double *pressed, int *status)
{
    double s[3 + M_], y[6], held, loss, inertia, stiff, momentum, damping = 0.0, lost;
    int slow;
    given(q, v, memory, ahead, s);
    k_smooth(p, s, w, y);
    loss = y[1];
    inertia = y[2];
    *pressed = 0.0;
    *status = @NAME@_NOT_FINITE;
    if (!(inertia > 0.0))
        return 0.0;
    stiff = dt * dt * y[3] - RESOLVED_ * inertia;
    stiff = 0.0 > stiff ? 0.0 : stiff;
    momentum = inertia * v + dt * y[0];
    if (y[4] > 0.0) {
        momentum += dt * y[4] * (ahead - q);
        inertia += dt * dt * y[4];
    }
    slow = -SLOW_ < v && v < SLOW_;
    if (!slow)
        damping = loss / v;
    if (damping < 0.0)
        momentum -= dt * loss;
    s[1] = 0.0;
    k_dry(p, s, w, &held);
    *pressed = y[5];
    *status = y[5] != 0.0 ? @NAME@_AT_LIMIT : @NAME@_OK;
    if (fabs(momentum) <= dt * held) {
        if (*status == @NAME@_OK)
            *status = @NAME@_STICKING;
        return 0.0;
    }
    s[1] = v;
#if FADES_
    k_dry(p, s, w, &held);
#endif
    if (slow)
        k_creep(p, s, &damping);
    lost = fabs(momentum) < dt * held ? fabs(momentum) : dt * held;
    return (momentum - copysign(lost, momentum)) / (inertia + stiff + dt * (0.0 > damping ? 0.0 : damping));
}

/* Position and speed after a time dt, whether a stop was touched, and the status. */
static int part(const @name@_parameters *p, double *position, double *speed, double *memory, const double *w, double dt,
                int *touched)
{
    const double q = *position, v = *speed;
    double there = q + dt * v, new_speed = v, pressed = 0.0;
    int i, status = @NAME@_OK;
    *touched = 0;
    for (i = 0; i < TOUCHES_; i++) {
        const double ahead = there < LOW_ ? LOW_ : there > HIGH_ ? HIGH_ : there;
        new_speed = towards(p, q, v, memory, ahead, w, dt, &pressed, &status);
        there = q + dt * new_speed;
#if STOPS_
        {
            double s[3 + M_], at_end;
            given(q, v, memory, there, s);
            k_press(p, s, &at_end);
            if (pressed != 0.0 || at_end != 0.0)
                *touched = 1;
            if (same_side(at_end, pressed))
                break;
        }
#else
        (void)same_side;
        break;
#endif
    }
    if (!(LOW_ <= there && there <= HIGH_)) { /* a linkage that is stretched stops the object, and gives nothing back */
        there = there < LOW_ ? LOW_ : HIGH_;
        new_speed = (there - q) / dt;
        status = @NAME@_AT_LIMIT;
    }
#if M_
    if (status != @NAME@_NOT_FINITE) {
        double s[3 + M_];
        given(q, v, memory, there, s);
        k_remember(p, s, memory);
    }
#endif
    *position = there;
    *speed = new_speed;
    return status;
}

static int advance(const @name@_parameters *p, const double *s, const double *w, double *out)
{
    double q = s[0], v = s[1], *memory = out + 2;
    int i, touched, status;
    memcpy(memory, s + 2, M_ * sizeof *memory);
    status = part(p, &q, &v, memory, w, DT_, &touched);
    if (touched && (s[1] != 0.0 || v != 0.0) && status != @NAME@_NOT_FINITE) {
        int pressed = 0;
        q = s[0];
        v = s[1];
        memcpy(memory, s + 2, M_ * sizeof *memory);
        for (i = 0; i < PARTS_; i++) {
            status = part(p, &q, &v, memory, w, DT_ / PARTS_, &touched);
            pressed = pressed || touched;
        }
        if (pressed)
            status = @NAME@_AT_LIMIT;
    }
    out[0] = q;
    out[1] = v;
    out[NS_] = (v - s[1]) / DT_;
    return status;
}
