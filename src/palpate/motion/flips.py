"""Flips: exchanged labels that fit, because the set of markers is symmetric; only the body seems to turn over."""

from __future__ import annotations

import numpy as np

from palpate.motion.exchanged import relabelled
from palpate.motion.rigid import Alignment, align, known_points
from palpate.motion.robust import IntArray
from palpate.physics.arrays import FloatArray

_MOMENT_S = 0.05
_COS_TURN = np.cos(np.radians(45.0))
"""No object in a hand turns by more than this within a moment."""
_NEAR = 0.35
"""Part of the smallest distance between markers within which a point is at a place one frame later."""
_MANY = 200


def flipped_places(points: FloatArray, times_s: FloatArray, cloud: FloatArray, alignment: Alignment) -> IntArray:
    """(frames, k) to whose place each label's point belongs, where the pose jumps over and labels explain it.

    The labels of the first frame are taken as right: a symmetric set of markers cannot tell.
    """
    k = len(cloud)
    places = np.tile(np.arange(k), (len(points), 1))
    usable = np.flatnonzero(alignment.usable)
    R, t = alignment.rotation[usable], times_s[usable]
    cosine = (np.einsum("nij,nij->n", R[:-1], R[1:]) - 1) / 2
    jumps = np.flatnonzero((cosine < _COS_TURN) & (np.diff(t) < _MOMENT_S))
    if not 0 < len(jumps) <= _MANY:
        return places
    apart = np.linalg.norm(cloud[:, None] - cloud[None], axis=2)[np.triu_indices(k, 1)]
    current = np.arange(k)
    ends = [*(int(usable[j + 1]) for j in jumps[1:]), len(points)]
    for j, end in zip(jumps, ends, strict=True):
        before, after = int(usable[j]), int(usable[j + 1])
        pose = align(relabelled(points[before : before + 1], current[None]), cloud)
        if pose.usable[0]:
            body = (points[after] - pose.position[0]) @ pose.rotation[0]
            current = _nearest(body, cloud, _NEAR * float(apart.min()), current)
        places[after:end] = current
    return places


def _nearest(body: FloatArray, cloud: FloatArray, within_m: float, otherwise: IntArray) -> IntArray:
    """The place nearest to each point, if each has its own; hidden ones get what is left, their own if they can."""
    seen = np.flatnonzero(known_points(body))
    distance = np.linalg.norm(body[seen, None] - cloud[None], axis=2)
    to = distance.argmin(axis=1)
    if len(np.unique(to)) < len(to) or distance.min(axis=1).max() > within_m:
        return otherwise
    found = np.full(len(cloud), -1)
    found[seen] = to
    left = [place for place in range(len(cloud)) if place not in set(to.tolist())]
    hidden = [label for label in range(len(cloud)) if found[label] < 0]
    for label in [x for x in hidden if x in left]:
        found[label] = label
        left.remove(label)
    for label in [x for x in hidden if found[x] < 0]:
        found[label] = left.pop()
    return found
