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
