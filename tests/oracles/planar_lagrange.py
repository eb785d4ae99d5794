"""A body on a rolling wheel in the sagittal plane, by Lagrange, on paper.

Coordinates: s, how far the axle went ahead, and p, the pitch about it. The centre of mass is rho from the axle; at
pitch p it is at an angle e + p above straight back, e its angle at p = 0: ahead of the axle by -rho cos(e + p), above
it by rho sin(e + p). So

    T = m/2 s'^2 + m rho sin(e + p) s' p' + I/2 p'^2,    V = m g rho sin(e + p),

I about the axle. Rolling resistance tau on a wheel without inertia works on its turning s'/r: as tau / r on s. Then

    F   = m s'' + m rho (sin(e + p) p'' + cos(e + p) p'^2) + tau / r
    M   = m rho sin(e + p) s'' + I p'' + m g rho cos(e + p)

are the hands' force ahead and their moment about the axle; about the contact, r below it, the moment is M + r F.
"""

from __future__ import annotations

import numpy as np


def hands_in_a_plane(
    body: dict[str, float],
    wheel: dict[str, float],
    s: tuple[np.ndarray, np.ndarray],
    p: tuple[np.ndarray, np.ndarray, np.ndarray],
    gravity: float,
) -> tuple[np.ndarray, np.ndarray]:
    """Force ahead (N) and moment about the contact (N m). body: m, down and back (m, of the centre of mass at p = 0), I
    about the axle; wheel: r, viscous, dry; s: s', s''; p: p, p', p''.
    """
    m, rho = body["m"], np.hypot(body["down"], body["back"])
    angle = np.arctan2(-body["down"], body["back"]) + p[0]
    spin = s[0] / wheel["r"]
    tau = wheel["viscous"] * spin + wheel["dry"] * np.sign(spin)
    force = m * s[1] + m * rho * (np.sin(angle) * p[2] + np.cos(angle) * p[1] ** 2) + tau / wheel["r"]
    moment = m * rho * np.sin(angle) * s[1] + body["I"] * p[2] + m * gravity * rho * np.cos(angle)
    return force, moment + wheel["r"] * force
