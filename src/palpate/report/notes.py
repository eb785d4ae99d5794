"""Lines of text about what stands behind a body's numbers: lambda, zeros, handles, feet, the wheel's friction."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

_NAMED = 3
"""Parameters that a line names."""
_NOTHING = 0.1
"""Of the half width of an interval: a smaller change is none."""
_ZEROS = {
    "still": "mean while nobody touched the handles",
    "estimated": "estimated with the other parameters",
    "none": "as recorded",
}
_OTHERWISE = {"still": "from the untouched handles", "estimated": "estimated along", "none": "left as recorded"}


def notes(data: Mapping[str, Any]) -> list[str]:
    """A line for each of these that the result tells of."""
    return [*_damping(data), *_systematic(data), *_zero(data), *_handles(data), *_feet(data), *_friction(data)]


def _damping(data: Mapping[str, Any]) -> Iterator[str]:
    """What half and twice the lambda do, to identified parameters where there are any."""
    changes: Mapping[str, Mapping[str, float]] = data.get("damping_changes") or {}
    if not changes:
        return
    moved = {n: max(abs(own[n]) for own in changes.values()) for n in next(iter(changes.values()))}
    shares = _shares(data, moved)
    sure = {n: v for n, v in shares.items() if data["parameters"][n]["status"] == "identified"}
    if not shares:
        return
    own = sure or shares
    worst = max(own, key=lambda n: own[n])
    which = "identified parameters" if sure else "parameters, none of which is identified,"
    yield f"Half or twice the lambda moves {which} by up to {own[worst]:.2g} half widths of their interval ({worst})"


def _systematic(data: Mapping[str, Any]) -> Iterator[str]:
    """What each declared uncertainty does most to, beside the intervals."""
    sources: Mapping[str, Mapping[str, float]] = data.get("systematic") or {}
    told: list[str] = []
    for source, stds in sources.items():
        shares = _shares(data, {n: 1.96 * v for n, v in stds.items()})
        worst = sorted((n for n, share in shares.items() if share > _NOTHING), key=lambda n: -shares[n])[:_NAMED]
        moved = ", ".join(f"{n} ± {1.96 * stds[n]:.2g} {data['parameters'][n]['unit']}" for n in worst)
        told.append(f"{source}: {moved or 'nothing by a tenth of its interval'}")
    if told:
        yield f"Systematic, most of all from {'; '.join(told)}"


def _zero(data: Mapping[str, Any]) -> Iterator[str]:
    """Where the load cells' zeros come from, and what another source would change."""
    zero: Mapping[str, Any] = data.get("zero") or {}
    if not zero:
        return
    told: list[str] = []
    for way, changes in zero["change_if"].items():
        shares = _shares(data, changes)
        worst = sorted((n for n, share in shares.items() if share > _NOTHING), key=lambda n: -shares[n])[:_NAMED]
        moved = ", ".join(f"{n} {changes[n]:+.2g} {data['parameters'][n]['unit']}" for n in worst)
        told.append(f"if {_OTHERWISE[way]}: {moved or 'no parameter moves by a tenth of its interval'}")
    fixed = " and a stated wrench at the contact" if "at_contact" in zero else ""
    yield f"Zeros of the load cells: {_ZEROS[zero['from']]}{fixed}" + (f"; {'; '.join(told)}" if told else "")


def _shares(data: Mapping[str, Any], changes: Mapping[str, float | None]) -> dict[str, float]:
    """Changes in half widths of the intervals, of parameters that have one."""
    found: dict[str, float] = {}
    for name, change in changes.items():
        ci = data["parameters"].get(name, {}).get("ci95")
        if ci is not None and change is not None and ci[1] > ci[0]:
            found[name] = 2 * abs(change) / (ci[1] - ci[0])
    return found


def _handles(data: Mapping[str, Any]) -> Iterator[str]:
    handles: Mapping[str, Any] = data.get("handles") or {}
    each = [f"{h['phi']['m']:.4g} kg ({h['from']})" for h in handles.values()]
    if each:
        same = len(each) > 1 and len(set(each)) == 1
        yield f"Handle{'s' if len(each) > 1 else ''}: {f'{each[0]}, on both sensors' if same else ', '.join(each)}"


def _feet(data: Mapping[str, Any]) -> Iterator[str]:
    rolling: Mapping[str, Any] = data.get("rolling") or {}
    assumed: Mapping[str, float] = rolling.get("feet_assumed") or {}
    stiff = [v for n, v in assumed.items() if n.endswith("_k")]
    rough = [v for n, v in assumed.items() if n.startswith("mu_")]
    if not assumed:
        return
    what = [f"a stiffness of {stiff[0]:.2g} N/m"] if stiff else []
    what += [f"friction {rough[0]:g}"] if rough else []
    yield f"Feet: {len(rolling['feet_m'])}, from the markers; how they press and rub is assumed: {', '.join(what)}"


def _friction(data: Mapping[str, Any]) -> Iterator[str]:
    """b_c as rolling resistance: at most, and as far as it follows the load."""
    rolling: Mapping[str, Any] = data.get("rolling") or {}
    found: Mapping[str, Any] = rolling.get("resistance") or {}
    if not found or found["mu_r_at_most"] is None:
        return
    text = f"{found['element']} as rolling resistance alone, under the mean load of {found['mean_load_N']:.0f} N, "
    text += f"would be mu_r = {found['mu_r_at_most']:.2g}"
    if found["ci95"] is not None:
        half = (found["ci95"][1] - found["ci95"][0]) / 2
        text += f"; from how friction follows the load, mu_r = {found['mu_r']:.2g} ± {half:.1g}"
    yield text
