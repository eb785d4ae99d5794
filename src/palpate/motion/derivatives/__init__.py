"""From positions to speeds and accelerations: filters, the choice of a bandwidth, local polynomials."""
