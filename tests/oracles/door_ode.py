"""A door with a closer, written down from the paper's equations (errata 1, 2), moved by SciPy's `solve_ivp`.

Nothing of palpate is used. The linkage is solved as printed, by the half-angle quadratic; its velocity ratio by
Norton's velocity loop (Design of Machinery, 6.7). Sticking is exact: slip and stick are phases with events between.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.integrate import solve_ivp
from scipy.optimize import brentq

INCH = 0.0254


@dataclass(frozen=True)
class Door:
    """The paper's Table and text, SI and rad; `root` -1 is the assembly that closes the door."""

    lengths: tuple[float, float, float, float] = (11.25 * INCH, 10.75 * INCH, 10.25 * INCH, 13.75 * INCH)
    root: int = -1
    I: float = 6.53
    b_v: float = 4.75
    b_c: float = 1.79
    b_bc: float = 7.52
    b_s: float = 4.47
    b_l: float = 2.57
    c: tuple[float, ...] = (18.01, -17.10, 5.34, -0.70)
    theta_bc: float = np.radians(69)
    theta_l: float = np.radians(25)
    eps_bc: float = np.radians(2)
    eps_l: float = np.radians(2)


def linkage(door: Door, theta: float) -> tuple[float, float]:
    """phi_d (continuous from the closed door on) and nu."""
    path = np.linspace(0, theta, 2 + int(abs(theta) / 0.02))
    gamma = np.unwrap(_gamma(door, path))[-1]
    L1, L2, L3, L4 = door.lengths
    # direction of the third link, from where it is held to the elbow
    elbow = L1 * np.exp(1j * theta) + L2 * np.exp(1j * gamma) - L4
    assert abs(abs(elbow) - L3) < 1e-9
    psi = np.angle(elbow)
    gamma_1 = L1 / L2 * np.sin(psi - theta) / np.sin(gamma - psi)
    return float(np.pi + theta - gamma), float(1 - gamma_1)


def acceleration(door: Door, theta: float, theta_dot: float, tau_ext: float) -> float:
    """Of a moving door, rad/s2: eqs. y_door_scalar and f_door_scalar solved for theta_ddot."""
    return (_drive(door, theta, theta_dot, tau_ext) - door.b_c * np.sign(theta_dot)) / door.I


def simulate(
    door: Door,
    tau_ext: Callable[[float], float],
    times_s: np.ndarray,
    theta: float,
    theta_dot: float = 0.0,
) -> np.ndarray:
    """(samples, 2) angle and speed at the times, from the state at the first."""
    found = np.empty((len(times_s), 2))
    t, end, x, done = float(times_s[0]), float(times_s[-1]), np.array([theta, theta_dot]), 0
    while done < len(times_s):
        sign = float(np.sign(x[1])) or _breaks_loose(door, x[0], tau_ext(t))
        if sign:
            run = solve_ivp(
                lambda t, x, s=sign: [x[1], (_drive(door, x[0], x[1], tau_ext(t)) - s * door.b_c) / door.I],
                (t, end),
                x,
                events=_stops(sign),
                dense_output=True,
                rtol=1e-9,
                atol=1e-11,
            )
            t = float(run.t[-1])
            x = run.y[:, -1] * [1.0, 0.0 if run.status == 1 else 1.0]
            path = run.sol
        else:
            rest = x.copy()
            t = _released(door, rest[0], tau_ext, np.append(times_s[times_s > t], end), t)
            path = lambda t, rest=rest: np.tile(rest, (len(t), 1)).T  # noqa: E731
        inside = times_s[done:][times_s[done:] <= t]
        if len(inside):
            found[done : done + len(inside)] = path(inside).T
        done += len(inside)
    return found


def _breaks_loose(door: Door, theta: float, tau_ext: float) -> float:
    """The direction in which a resting door starts to move; 0 where friction holds it."""
    push = _drive(door, theta, 0.0, tau_ext)
    return float(np.sign(push)) if abs(push) > door.b_c * (1 + 1e-9) else 0.0


def _released(door: Door, theta: float, tau_ext: Callable[[float], float], grid: np.ndarray, t: float) -> float:
    """When friction no longer holds a resting door, else the last time."""

    def beyond(s: float) -> float:
        return abs(_drive(door, theta, 0.0, tau_ext(s))) - door.b_c * (1 + 1e-8)

    for s in grid:
        if beyond(s) > 0:
            return float(brentq(beyond, t, s, xtol=1e-12)) + 1e-11
        t = s
    return float(grid[-1])


def _gamma(door: Door, theta: np.ndarray) -> np.ndarray:
    L1, L2, L3, L4 = door.lengths
    K1, K4 = L4 / L1, L4 / L2
    K5 = (L3**2 - L4**2 - L1**2 - L2**2) / (2 * L1 * L2)
    D = np.cos(theta) - K1 + K4 * np.cos(theta) + K5
    E = -2 * np.sin(theta)
    F = K1 + (K4 - 1) * np.cos(theta) + K5
    return 2 * np.arctan((-E + door.root * np.sqrt(E**2 - 4 * D * F)) / (2 * D))


def _drive(door: Door, theta: float, theta_dot: float, tau_ext: float) -> float:
    """All moments on the door but dry friction."""
    phi, nu = linkage(door, theta)
    phi_dot = nu * theta_dot
    w_bc = 0.5 * (1 + np.tanh((theta - door.theta_bc) / door.eps_bc))
    w_l = 0.5 * (1 + np.tanh((door.theta_l - theta) / door.eps_l))
    w_s = 1 - w_l
    tau_b = w_bc * door.b_bc * phi_dot if phi_dot > 0 else (w_s * door.b_s + w_l * door.b_l) * phi_dot
    tau_s = sum(c * phi**i for i, c in enumerate(door.c))
    return tau_ext + nu * tau_s - door.b_v * theta_dot - nu * tau_b


def _stops(sign: float) -> Callable[[float, np.ndarray], float]:
    def event(_: float, x: np.ndarray) -> float:
        return float(x[1])

    event.terminal = True  # type: ignore[attr-defined]
    event.direction = -sign  # type: ignore[attr-defined]
    return event
