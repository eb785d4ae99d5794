/* Both bodies under the measured force, and one on the inner body (NULL: none), held to the measured positions by the
   gains; what is done where stands in observer.py. */
static double part(double v, double by, double most)
{
    const double way = v > 0.0 ? 1.0 : v < 0.0 ? -1.0 : 0.0, left = way * (v + by) - most;
    const double slips = by > most ? by - most : by < -most ? by + most : 0.0;
    if (way != 0.0 && left >= 0.0)
        return way * left;
    return slips == 0.0 || way == 0.0 ? slips : (1.0 - way * v / (most - way * by)) * slips;
}

/* A cubic through samples i and i + 1, x from 0 to 1. */
static double between(const double *f, long i, long last, double x)
{
    const long after = i < last ? i + 1 : i, later = after < last ? after + 1 : after;
    const double slope = 0.5 * (f[after] - f[i > 0 ? i - 1 : i]), next = 0.5 * (f[later] - f[i]);
    const double rise = f[after] - f[i];
    return f[i] + x * (slope + x * (3.0 * rise - 2.0 * slope - next + x * (slope + next - 2.0 * rise)));
}

void observe(const double *q, const double *force, const double *inside, long samples, double period, long steps,
             const model_parameters *p, const double *gains, double *s, double *out)
{
    const double dt = period / (double)steps;
    for (long i = 0; i < samples; i++) {
        const double off = q[i] - s[0];
        for (int j = 0; j < 4; j++)
            s[j] += gains[j] * off;
        out[i] = off;
        out[samples + i] = s[0];
        for (long k = 0; k < steps; k++) {
            const double x = (double)k / (double)steps, pushed = between(force, i, samples - 1, x);
            const double more = inside ? between(inside, i, samples - 1, x) : 0.0;
            double y[14], f[2] = {0.0, 0.0}, new[2];
            k_both(p, s, y);
            const double a = y[10] + dt * (0.5 * y[6] + 0.25 * dt * y[2]), b = dt * (0.5 * y[7] + 0.25 * dt * y[3]);
            const double c = dt * (0.5 * y[8] + 0.25 * dt * y[4]), d = y[11] + dt * (0.5 * y[9] + 0.25 * dt * y[5]);
            const double det = a * d - b * c, one = dt * (pushed - y[0]), other = dt * (more - y[1]);
            const double G[2][2] = {{d / det, -b / det}, {-c / det, a / det}};
            const double by[2] = {G[0][0] * one + G[0][1] * other, G[1][0] * one + G[1][1] * other};
            for (int sweep = 0; sweep < SWEEPS_; sweep++)
                for (int j = 0; j < 2; j++) {
                    const double change = by[j] - G[j][1 - j] * f[1 - j];
                    new[j] = part(s[2 + j], change, G[j][j] * dt * y[12 + j]);
                    f[j] = (s[2 + j] + change - new[j]) / G[j][j];
                }
            new[0] = s[2] + by[0] - G[0][0] * f[0] - G[0][1] * f[1];
            s[2] = new[0];
            s[3] = new[1];
            s[0] += dt * s[2];
            s[1] += dt * s[3];
        }
    }
}
