#if DRY
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
static int pivoted(double G[DRY][DRY], const double *free_speed, const double *most, double *f)
{
    double A[DRY][DRY], size[DRY], side[DRY], old[DRY], x[DRY], rows[DRY * (DRY + 1)], slack = 0.0;
    int held[DRY], count, i, j, turn, wrong;
    for (i = 0; i < DRY; i++) {
        size[i] = G[i][i] > 0.0 ? G[i][i] : 1.0;
        for (j = 0; j < DRY; j++)
            A[i][j] = i == j ? G[i][j] + CREEP * size[i] : G[i][j];
        side[i] = fabs(f[i]) < most[i] ? 0.0 : sign(f[i]);
        slack = fabs(free_speed[i]) > slack ? fabs(free_speed[i]) : slack;
    }
    slack *= SETTLED;
    for (turn = 0; turn < PIVOTS; turn++) {
        count = 0;
        for (i = 0; i < DRY; i++) {
            x[i] = side[i] * most[i];
            if (side[i] == 0.0)
                held[count++] = i;
        }
        for (i = 0; i < count; i++) {
            for (j = 0; j < count; j++)
                rows[i * (count + 1) + j] = A[held[i]][held[j]];
            rows[i * (count + 1) + count] = free_speed[held[i]] - dot(A[held[i]], x, DRY);
        }
        if (!solve(rows, count, count + 1))
            return 0;
        for (i = 0; i < count; i++)
            x[held[i]] = rows[i * (count + 1) + count];
        wrong = -1;
        memcpy(old, side, sizeof old);
        for (i = 0; i < DRY; i++) {
            const double off = old[i] == 0.0 ? (fabs(x[i]) - most[i]) * size[i]
                                             : -(free_speed[i] - dot(A[i], x, DRY)) * old[i];
            if (off > slack) {
                wrong = i;
                if (turn < DRY)
                    side[i] = old[i] == 0.0 ? sign(x[i]) : 0.0;
            }
        }
        if (wrong < 0) {
            for (i = 0; i < DRY; i++)
                f[i] = x[i] < -most[i] ? -most[i] : x[i] > most[i] ? most[i] : x[i];
            return 1;
        }
        if (turn >= DRY)
            side[wrong] = old[wrong] == 0.0 ? sign(x[wrong]) : 0.0;
    }
    return 0;
}

/* f within +-most such that each speed, free - G f, is zero or has the sign of its f, which is then at its bound. */
static void dry_impulses(double G[DRY][DRY], const double *free_speed, const double *most, double *f)
{
    int j, sweep, settled;
    for (sweep = 0; sweep < SWEEPS; sweep++) {
        settled = 1;
        for (j = 0; j < DRY; j++) {
            if (G[j][j] > 0.0) {
                double x = f[j] + (free_speed[j] - dot(G[j], f, DRY)) / G[j][j];
                x = x < -most[j] ? -most[j] : x > most[j] ? most[j] : x;
                settled = settled && fabs(x - f[j]) <= SETTLED * most[j];
                f[j] = x;
            }
        }
        if (settled || (sweep == TURN && pivoted(G, free_speed, most, f)))
            return;
    }
}

/* The new speeds with dry friction, from those without (u) and what unit impulses take (Z). */
static void hold(const @name@_parameters *p, const double *s, double Z[DRY][N], double *u)
{
    double C[DRY * N], G[DRY][DRY], free_speed[DRY], still[NQ + N], most[DRY], f[DRY];
    int i, j;
    memcpy(still, s, sizeof still);
    for (i = 0; i < N; i++)
        still[NQ + i] = 0.0;
    k_ways(p, s, C);
    k_levels(p, still, most);
    for (i = 0; i < DRY; i++) {
        for (j = 0; j < DRY; j++)
            G[i][j] = dot(C + i * N, Z[j], N);
        free_speed[i] = dot(C + i * N, u, N);
        most[i] = DT * most[i];
        f[i] = 0.0;
    }
    dry_impulses(G, free_speed, most, f);
#if FADES
    {
        double slipping[DRY];
        k_levels(p, s, slipping);
        for (i = 0; i < DRY; i++)
            most[i] = fabs(f[i]) < most[i] ? most[i] : DT * slipping[i];
        dry_impulses(G, free_speed, most, f);
    }
#endif
    for (i = 0; i < DRY; i++)
        for (j = 0; j < N; j++)
            u[j] -= f[i] * Z[i][j];
    for (i = 0; i < DRY; i++) {
        int along = -1, count = 0;
        for (j = 0; j < N; j++)
            if (C[i * N + j] != 0.0) {
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
#if RATES
    double s[NQ + N], rate[NQ];
    memcpy(s, q, NQ * sizeof *s);
    memcpy(s + NQ, u, N * sizeof *s);
    k_rates(p, s, rate);
    for (i = 0; i < NQ; i++)
        s[i] = q[i] + 0.5 * DT * rate[i];
    k_rates(p, s, rate);
    for (i = 0; i < NQ; i++)
        there[i] = q[i] + DT * rate[i];
#elif TURNS
    const double a = q[3], b = q[4], g = q[5], d = q[6];
    const double speed = sqrt(u[3] * u[3] + u[4] * u[4] + u[5] * u[5]);
    const double half = 0.5 * DT * speed, c = cos(half), s = speed > 0.0 ? sin(half) / speed : 0.0;
    const double x = s * u[3], y = s * u[4], z = s * u[5];
    double size = 0.0;
    (void)p;
    for (i = 0; i < 3; i++)
        there[i] = q[i] + DT * u[i];
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
    (void)p;
    for (i = 0; i < NQ; i++)
        there[i] = q[i] + DT * u[i];
#endif
}

/* The new speeds if the stops are as pressed as at the positions `ahead`; 0 where there are none. */
static int towards(const @name@_parameters *p, const double *s, const double *ahead, const double *w, double *u)
{
    double rows[N * (N + 1 + DRY)];
    int i;
    k_system(p, s, ahead, w, rows);
    if (!solve(rows, N, N + 1 + DRY))
        return 0;
    for (i = 0; i < N; i++)
        u[i] = s[NQ + i] + rows[i * (N + 1 + DRY) + N];
#if DRY
    {
        double Z[DRY][N];
        int j;
        for (i = 0; i < N; i++)
            for (j = 0; j < DRY; j++)
                Z[j][i] = rows[i * (N + 1 + DRY) + N + 1 + j];
        hold(p, s, Z, u);
    }
#endif
    return 1;
}

#if ACCOUNT
/* Kinetic energy after a step is at most what was there, the work, and what was given back. */
static void bounded(const @name@_parameters *p, const double *s, double *there, double *u, const double *w)
{
    static const double at[3] = {GAUSS_AT}, weight[3] = {GAUSS_WEIGHT};
    double x[NQ + N], had[2], after[2], worked, taken, lifted = 0.0, allowed, share;
    int i, j;
    k_account(p, s, had);
    memcpy(x, there, NQ * sizeof *x);
    memcpy(x + NQ, u, N * sizeof *x);
    k_account(p, x, after);
    memcpy(x, s, NQ * sizeof *x);
    k_pushed(p, x, w, &worked);
    for (j = 0; j < 3; j++) {
        for (i = 0; i < NQ; i++)
            x[i] = s[i] + at[j] * (there[i] - s[i]);
        k_power(p, x, &taken);
        lifted += weight[j] * taken;
    }
    allowed = had[0] + DT * (worked - lifted) + had[1] - after[1];
    if (after[0] <= allowed)
        return;
    if (!(allowed > 0.0)) { /* not even at rest would it be here */
        memcpy(there, s, NQ * sizeof *there);
        for (i = 0; i < N; i++)
            u[i] = 0.0;
        return;
    }
    share = sqrt(allowed / after[0]);
    for (i = 0; i < N; i++)
        u[i] = share * u[i];
}
#endif

/* Which of the stops are pressed at these positions, bit by bit. */
static unsigned long touching(const @name@_parameters *p, const double *q)
{
    unsigned long found = 0;
#if STOPS
    double pressed[STOPS];
    int i;
    k_pressed(p, q, pressed);
    for (i = 0; i < STOPS; i++)
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
    const double *v = s + NQ;
    double *there = out, *u = out + NQ;
    unsigned long touched, before;
    int i, beyond = 0, status;
    memcpy(u, v, N * sizeof *u);
    move(p, s, v, there);
    touched = touching(p, there);
    for (i = 0; i < TOUCHES; i++) {
        if (!towards(p, s, there, w, u))
            return @NAME@_NOT_FINITE;
        move(p, s, u, there);
        before = touched;
        touched = touching(p, there);
        if (touched == before)
            break;
    }
#if ACCOUNT
    bounded(p, s, there, u, w);
#endif
#if DRY
    {
        int resting = 1;
        for (i = 0; i < N; i++)
            resting = resting && fabs(u[i]) < REST && fabs(u[i] - v[i]) < REST * DT;
        beyond = resting;
    }
    if (beyond) {
        memcpy(there, s, NQ * sizeof *there);
        for (i = 0; i < N; i++)
            u[i] = 0.0;
    }
    beyond = 0;
#endif
@limits@
    if (beyond) { /* it lies there, and gives nothing back */
        memcpy(there, s, NQ * sizeof *there);
        for (i = 0; i < N; i++)
            u[i] = 0.0;
    }
    status = beyond || touched ? @NAME@_AT_LIMIT : @NAME@_OK;
#if DRY
    {
        int still = 1;
        for (i = 0; i < N; i++)
            still = still && u[i] == 0.0;
        if (still && status == @NAME@_OK)
            status = @NAME@_STICKING;
    }
#endif
    for (i = 0; i < N; i++)
        out[NQ + N + i] = (u[i] - v[i]) / DT;
    return status;
}
