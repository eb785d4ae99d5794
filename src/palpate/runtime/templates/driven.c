/* The inner body along samples of the outer one, q and qd, `steps` a sample; what is done where stands in driven.py. */
void drive(const double *q, const double *qd, long samples, double period, long steps, const model_parameters *p,
           double u, double v, double *out)
{
    const double dt = period / (double)steps;
    for (long i = 0; i < samples; i++) {
        const long j = i + 1 < samples ? i + 1 : i;
        const double rise = q[j] - q[i], slope = period * qd[i], next = period * qd[j];
        const double two = 3.0 * rise - 2.0 * slope - next, three = slope + next - 2.0 * rise;
        for (long k = 0; k < steps; k++) {
            const double x = (double)k / (double)steps;
            double y[5], s[4];
            s[0] = q[i] + x * (slope + x * (two + x * three));
            s[1] = u;
            s[2] = (slope + x * (2.0 * two + 3.0 * x * three)) / period;
            s[3] = v;
            k_step(p, s, y);
            const double whole = y[3] + dt * (0.5 * y[2] + 0.25 * dt * y[1]);
            const double by = -dt * y[0] / whole, most = dt * y[4] / whole;
            const double way = v > 0.0 ? 1.0 : v < 0.0 ? -1.0 : 0.0;
            const double left = way * v + way * by - most;
            double new;
            if (way != 0.0 && left >= 0.0) {
                new = way * left;
            } else {
                const double slips = by > most ? by - most : by < -most ? by + most : 0.0;
                new = slips == 0.0 ? 0.0 : way == 0.0 ? slips : (1.0 - way * v / (most - way * by)) * slips;
            }
            if (k == 0) {
                out[i] = u;
                out[samples + i] = 0.5 * (v + new);
                out[2 * samples + i] = (new - v) / dt;
                out[3 * samples + i] = most > 0.0 ? (v + by - new) / most : 0.0;
            }
            v = new;
            u += dt * v;
        }
    }
}
