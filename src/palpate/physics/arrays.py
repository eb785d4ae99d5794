"""The one array type of the package."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
"""float64, shape (samples, ...) unless the docstring says otherwise."""
