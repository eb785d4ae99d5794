#if DRY_
static double dot(const double *a, const double *b, int count)
{
    double found = 0.0;
    int i;
    for (i = 0; i < count; i++)
        found += a[i] * b[i];
    return found;
}

static double sign(double x)
{
    return x > 0.0 ? 1.0 : x < 0.0 ? -1.0 : 0.0;
}

/* Impulses of dry friction by principal pivoting (Murty 1974); 0 if that fails, and f is as it was. */
static int pivoted(double G[DRY_][DRY_], const double *free_speed, const double *most, double *f)
{
    double A[DRY_][DRY_], size[DRY_], side[DRY_], old[DRY_], x[DRY_], rows[DRY_ * (DRY_ + 1)], slack = 0.0;
    int held[DRY_], count, i, j, turn, wrong;
    for (i = 0; i < DRY_; i++) {
        size[i] = G[i][i] > 0.0 ? G[i][i] : 1.0;
        for (j = 0; j < DRY_; j++)
            A[i][j] = i == j ? G[i][j] + CREEP_ * size[i] : G[i][j];
        side[i] = fabs(f[i]) < most[i] ? 0.0 : sign(f[i]);
        slack = fabs(free_speed[i]) > slack ? fabs(free_speed[i]) : slack;
    }
    slack *= SETTLED_;
    for (turn = 0; turn < PIVOTS_; turn++) {
        count = 0;
        for (i = 0; i < DRY_; i++) {
            x[i] = side[i] * most[i];
            if (side[i] == 0.0)
                held[count++] = i;
        }
        for (i = 0; i < count; i++) {
            for (j = 0; j < count; j++)
                rows[i * (count + 1) + j] = A[held[i]][held[j]];
            rows[i * (count + 1) + count] = free_speed[held[i]] - dot(A[held[i]], x, DRY_);
        }
        if (!solve(rows, count, count + 1))
            return 0;
        for (i = 0; i < count; i++)
            x[held[i]] = rows[i * (count + 1) + count];
        wrong = -1;
        memcpy(old, side, sizeof old);
        for (i = 0; i < DRY_; i++) {
            const double off = old[i] == 0.0 ? (fabs(x[i]) - most[i]) * size[i]
                                             : -(free_speed[i] - dot(A[i], x, DRY_)) * old[i];
            if (off > slack) {
                wrong = i;
                if (turn < DRY_)
                    side[i] = old[i] == 0.0 ? sign(x[i]) : 0.0;
            }
        }
        if (wrong < 0) {
            for (i = 0; i < DRY_; i++)
                f[i] = x[i] < -most[i] ? -most[i] : x[i] > most[i] ? most[i] : x[i];
            return 1;
        }
        if (turn >= DRY_)
            side[wrong] = old[wrong] == 0.0 ? sign(x[wrong]) : 0.0;
    }
    return 0;
}

/* f within +-most such that each speed, free - G f, is zero or has the sign of its f, which is then at its bound. */
static void dry_impulses(double G[DRY_][DRY_], const double *free_speed, const double *most, double *f)
{
    int j, sweep, settled;
    for (sweep = 0; sweep < SWEEPS_; sweep++) {
        settled = 1;
        for (j = 0; j < DRY_; j++) {
            if (G[j][j] > 0.0) {
                double x = f[j] + (free_speed[j] - dot(G[j], f, DRY_)) / G[j][j];
                x = x < -most[j] ? -most[j] : x > most[j] ? most[j] : x;
                settled = settled && fabs(x - f[j]) <= SETTLED_ * most[j];
                f[j] = x;
            }
        }
        if (settled || (sweep == TURN_ && pivoted(G, free_speed, most, f)))
            return;
    }
}

/* The new speeds with dry friction, from those without (u) and what unit impulses take (Z). */
static void hold(const @name@_parameters *p, const double *s, double Z[DRY_][N_], double *u)
{
    double C[DRY_ * N_], G[DRY_][DRY_], free_speed[DRY_], still[NQ_ + N_], most[DRY_], f[DRY_];
    int i, j;
    memcpy(still, s, sizeof still);
    for (i = 0; i < N_; i++)
        still[NQ_ + i] = 0.0;
    k_ways(p, s, C);
    k_levels(p, still, most);
    for (i = 0; i < DRY_; i++) {
        for (j = 0; j < DRY_; j++)
            G[i][j] = dot(C + i * N_, Z[j], N_);
        free_speed[i] = dot(C + i * N_, u, N_);
        most[i] = DT_ * most[i];
        f[i] = 0.0;
    }
    dry_impulses(G, free_speed, most, f);
#if FADES_
    {
        double slipping[DRY_];
        k_levels(p, s, slipping);
        for (i = 0; i < DRY_; i++)
            most[i] = fabs(f[i]) < most[i] ? most[i] : DT_ * slipping[i];
        dry_impulses(G, free_speed, most, f);
    }
#endif
    for (i = 0; i < DRY_; i++)
        for (j = 0; j < N_; j++)
            u[j] -= f[i] * Z[i][j];
    for (i = 0; i < DRY_; i++) {
        int along = -1, count = 0;
        for (j = 0; j < N_; j++)
            if (C[i * N_ + j] != 0.0) {
                along = j;
                count++;
            }
        if (fabs(f[i]) < most[i] && count == 1) /* held, and exactly so */
            u[along] = 0.0;
    }
}
#endif

/* How a step with the speeds u moves the positions. */
static void move(const @name@_parameters *p, const double *q, const double *u, double *there)
{
    int i;
#if TURNS_
    const double a = q[3], b = q[4], g = q[5], d = q[6];
    const double speed = sqrt(u[3] * u[3] + u[4] * u[4] + u[5] * u[5]);
    const double half = 0.5 * DT_ * speed, c = cos(half), s = speed > 0.0 ? sin(half) / speed : 0.0;
    const double x = s * u[3], y = s * u[4], z = s * u[5];
    double size = 0.0;
    (void)p;
    for (i = 0; i < 3; i++)
        there[i] = q[i] + DT_ * u[i];
    there[3] = a * c - b * x - g * y - d * z;
    there[4] = a * x + b * c + g * z - d * y;
    there[5] = a * y - b * z + g * c + d * x;
    there[6] = a * z + b * y - g * x + d * c;
    for (i = 3; i < 7; i++)
        size += there[i] * there[i];
    size = sqrt(size);
    for (i = 3; i < 7; i++)
        there[i] /= size;
#else
    double s[NQ_ + N_], rate[NQ_];
    memcpy(s, q, NQ_ * sizeof *s);
    memcpy(s + NQ_, u, N_ * sizeof *s);
    k_rates(p, s, rate);
    for (i = 0; i < NQ_; i++)
        s[i] = q[i] + 0.5 * DT_ * rate[i];
    k_rates(p, s, rate);
    for (i = 0; i < NQ_; i++)
        there[i] = q[i] + DT_ * rate[i];
#endif
}

/* The new speeds if the stops are as pressed as at the positions `ahead`; 0 where there are none. */
static int towards(const @name@_parameters *p, const double *s, const double *ahead, const double *w, double *u)
{
    double rows[N_ * (N_ + 1 + DRY_)];
    int i;
    k_system(p, s, ahead, w, rows);
    if (!solve(rows, N_, N_ + 1 + DRY_))
        return 0;
    for (i = 0; i < N_; i++)
        u[i] = s[NQ_ + i] + rows[i * (N_ + 1 + DRY_) + N_];
#if DRY_
    {
        double Z[DRY_][N_];
        int j;
        for (i = 0; i < N_; i++)
            for (j = 0; j < DRY_; j++)
                Z[j][i] = rows[i * (N_ + 1 + DRY_) + N_ + 1 + j];
        hold(p, s, Z, u);
    }
#endif
    return 1;
}

/* J that springs and weight take on the way, minus the work that is put in. */
static double taken_on(const @name@_parameters *p, const double *q, const double *there, const double *u,
                       const double *w)
{
    static const double at[3] = {GAUSS_AT_}, weight[3] = {GAUSS_WEIGHT_};
    double x[NQ_ + N_], worked, taken, lifted = 0.0;
    int i, j;
    memcpy(x, q, NQ_ * sizeof *x);
    memcpy(x + NQ_, u, N_ * sizeof *x);
    k_pushed(p, x, w, &worked);
    for (j = 0; j < 3; j++) {
        for (i = 0; i < NQ_; i++)
            x[i] = q[i] + at[j] * (there[i] - q[i]);
        k_power(p, x, &taken);
        lifted += weight[j] * taken;
    }
    return DT_ * (lifted - worked);
}

/* Kinetic energy after a step is at most what was there, the work, and what was given back; 0 if it is not finite. */
static int bounded(const @name@_parameters *p, const double *s, double *there, double *u, const double *w)
{
    double x[NQ_ + N_], had[2], after[2];
    int i, turn;
    k_account(p, s, had);
    for (turn = 0; turn < 3; turn++) {
        double taken, part, root;
        memcpy(x, there, NQ_ * sizeof *x);
        memcpy(x + NQ_, u, N_ * sizeof *x);
        k_account(p, x, after);
        taken = taken_on(p, s, there, u, w) + after[1] - had[1];
        if (!isfinite(after[0] + taken))
            return 0;
        if (after[0] + taken <= had[0])
            return 1;
        if (turn == 2) {
            const double left = had[0] - taken;
            if (!(left > 0.0)) { /* not even at rest would it be here */
                memcpy(there, s, NQ_ * sizeof *there);
                for (i = 0; i < N_; i++)
                    u[i] = 0.0;
                return 1;
            }
            part = sqrt(left / after[0]);
        } else {
            root = sqrt(taken * taken + 4.0 * after[0] * had[0]);
            part = taken > 0.0 ? 2.0 * had[0] / (taken + root) : (root - taken) / (2.0 * after[0]);
        }
        for (i = 0; i < N_; i++)
            u[i] = part * u[i];
        if (turn < 2)
            move(p, s, u, there);
    }
    return 1;
}

/* Which of the stops are pressed at these positions, bit by bit. */
static unsigned long touching(const @name@_parameters *p, const double *q)
{
    unsigned long found = 0;
#if STOPS_
    double pressed[STOPS_];
    int i;
    k_pressed(p, q, pressed);
    for (i = 0; i < STOPS_; i++)
        if (pressed[i] > 0.0)
            found |= 1UL << i;
#else
    (void)p;
    (void)q;
#endif
    return found;
}

static int advance(const @name@_parameters *p, const double *s, const double *w, double *out)
{
    const double *v = s + NQ_;
    double *there = out, *u = out + NQ_;
    unsigned long touched, before;
    int i, beyond = 0, status;
    memcpy(u, v, N_ * sizeof *u);
    move(p, s, v, there);
    touched = touching(p, there);
    for (i = 0; i < TOUCHES_; i++) {
        if (!towards(p, s, there, w, u))
            return @NAME@_NOT_FINITE;
        move(p, s, u, there);
        before = touched;
        touched = touching(p, there);
        if (touched == before)
            break;
    }
    if (!bounded(p, s, there, u, w))
        return @NAME@_NOT_FINITE;
#if DRY_
    {
        int resting = 1;
        for (i = 0; i < N_; i++)
            resting = resting && fabs(u[i]) < REST_ && fabs(u[i] - v[i]) < REST_ * DT_;
        beyond = resting;
    }
    if (beyond) {
        memcpy(there, s, NQ_ * sizeof *there);
        for (i = 0; i < N_; i++)
            u[i] = 0.0;
    }
    beyond = 0;
#endif
@limits@
    if (beyond) { /* it lies there, and gives nothing back */
        memcpy(there, s, NQ_ * sizeof *there);
        for (i = 0; i < N_; i++)
            u[i] = 0.0;
    }
    status = beyond || touched ? @NAME@_AT_LIMIT : @NAME@_OK;
#if DRY_
    {
        int still = 1;
        for (i = 0; i < N_; i++)
            still = still && u[i] == 0.0;
        if (still && status == @NAME@_OK)
            status = @NAME@_STICKING;
    }
#endif
    for (i = 0; i < N_; i++)
        out[NQ_ + N_ + i] = (u[i] - v[i]) / DT_;
    return status;
}
