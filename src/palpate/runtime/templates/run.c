/* A step for each of the wrenches from the state s, which goes along; how many were taken before numbers were lost. */
long run(const double *wrenches, long steps, double *s, double *states)
{
    double out[NS_ + N_];
    long i;
    for (i = 0; i < steps; i++) {
        double sum = 0.0;
        int j, status = advance(NULL, s, wrenches + 6 * i, out);
        for (j = 0; j < NS_ + N_; j++)
            sum += out[j];
        if (status == @NAME@_NOT_FINITE || !isfinite(sum))
            break;
        memcpy(s, out, NS_ * sizeof *s);
        memcpy(states + NS_ * i, s, NS_ * sizeof *s);
    }
    return i;
}
