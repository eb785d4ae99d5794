#if DRY_
/* X of A X = B, in place, from rows [A | B] of `width` numbers; 0 where A is singular. Gauss with row pivoting. */
static int solve(double *a, int n, int width)
{
    int i, j, k, c, best;
    for (k = 0; k < n; k++) {
        best = k;
        for (i = k + 1; i < n; i++)
            if (fabs(a[i * width + k]) > fabs(a[best * width + k]))
                best = i;
        for (j = 0; j < width; j++) {
            const double x = a[k * width + j];
            a[k * width + j] = a[best * width + j];
            a[best * width + j] = x;
        }
        if (!(fabs(a[k * width + k]) > 0.0))
            return 0;
        for (i = k + 1; i < n; i++) {
            const double factor = a[i * width + k] / a[k * width + k];
            if (factor != 0.0)
                for (j = k + 1; j < width; j++)
                    a[i * width + j] -= factor * a[k * width + j];
        }
    }
    for (c = n; c < width; c++)
        for (i = n - 1; i >= 0; i--) {
            double x = a[i * width + c];
            for (j = i + 1; j < n; j++)
                x -= a[i * width + j] * a[j * width + c];
            a[i * width + c] = x / a[i * width + i];
        }
    return 1;
}

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
        if (settled || DRY_ == 1 || (sweep == TURN_ && pivoted(G, free_speed, most, f)))
            return;
    }
}

/* The new speeds with dry friction, from what the system said: u, Z, C, G = C Z, C u and the largest impulses. */
static void hold(const double *said, double *u)
{
    const double *Z = said + 2 * N_ + 2, *C = Z + DRY_ * N_, *free_speed = C + DRY_ * N_ + DRY_ * DRY_;
    double G[DRY_][DRY_], most[DRY_], f[DRY_];
    int i, j;
    memcpy(G, C + DRY_ * N_, sizeof G);
    memcpy(most, free_speed + DRY_, sizeof most);
    for (i = 0; i < DRY_; i++)
        f[i] = 0.0;
    dry_impulses(G, free_speed, most, f);
#if FADES_
    for (i = 0; i < DRY_; i++)
        most[i] = fabs(f[i]) < most[i] ? most[i] : free_speed[2 * DRY_ + i];
    dry_impulses(G, free_speed, most, f);
#endif
    for (i = 0; i < DRY_; i++)
        for (j = 0; j < N_; j++)
            u[j] -= f[i] * Z[i * N_ + j];
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

/* Kinetic energy after a step is at most what was there, the work, and what was given back; 0 if it is not finite. */
static int bounded(const @name@_parameters *p, const double *s, double *there, double *u, const double *said)
{
    const double had = said[N_];
    int i, turn;
    for (turn = 0; turn < 3; turn++) {
        double after[2], taken, part, root;
        k_account(p, s, there, u, said, after);
        taken = after[1];
        if (after[0] + taken <= had)
            return 1;
        if (!isfinite(after[0] + taken))
            return 0;
        if (turn == 2) {
            const double left = had - taken;
            if (!(left > 0.0)) { /* not even at rest would it be here */
                memcpy(there, s, NQ_ * sizeof *there);
                for (i = 0; i < N_; i++)
                    u[i] = 0.0;
                return 1;
            }
            part = sqrt(left / after[0]);
        } else {
            root = sqrt(taken * taken + 4.0 * after[0] * had);
            part = taken > 0.0 ? 2.0 * had / (taken + root) : (root - taken) / (2.0 * after[0]);
        }
        for (i = 0; i < N_; i++)
            u[i] = part * u[i];
        if (turn < 2)
            k_move(p, s, u, there);
    }
    return 1;
}

#if STOPS_
/* Which of the stops are pressed at these positions, bit by bit. */
static unsigned long touching(const @name@_parameters *p, const double *q)
{
    unsigned long found = 0;
    double pressed[STOPS_];
    int i;
    k_pressed(p, q, pressed);
    for (i = 0; i < STOPS_; i++)
        if (pressed[i] > 0.0)
            found |= 1UL << i;
    return found;
}
#endif

static int advance(const @name@_parameters *p, const double *s, const double *w, double *out)
{
    const double *v = s + NQ_;
    double *there = out, *u = out + NQ_, said[SAYS_];
    int i, beyond = 0, status = @NAME@_OK;
#if STOPS_
    unsigned long touched, before;
    k_move(p, s, v, there);
    touched = touching(p, there);
    for (i = 0; i < TOUCHES_; i++) {
#endif
    k_system(p, s, there, w, said);
    memcpy(u, said, N_ * sizeof *u);
#if DRY_
    hold(said, u);
#endif
    k_move(p, s, u, there);
#if STOPS_
        before = touched;
        touched = touching(p, there);
        if (touched == before)
            break;
    }
    if (touched)
        status = @NAME@_AT_LIMIT;
#endif
    if (!bounded(p, s, there, u, said))
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
    if (beyond)
        status = @NAME@_AT_LIMIT;
#if DRY_
    {
        int still = 1;
        for (i = 0; i < N_; i++)
            still = still && u[i] == 0.0;
        if (still && status == @NAME@_OK)
            status = @NAME@_STICKING;
    }
#endif
#if M_
    k_remember(p, s, there, out + NQ_ + N_);
#endif
    for (i = 0; i < N_; i++)
        out[NS_ + i] = (u[i] - v[i]) / DT_;
    return status;
}
