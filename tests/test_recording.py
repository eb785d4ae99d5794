"""Clocks, channels and recordings as values."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pytest

from palpate.errors import DataProblem, UnknownName
from palpate.recording import Channel, Clock, Recording, merge_recordings


def recording(names: str, clock: Clock, source: str | None = None) -> Recording:
    samples = np.arange(len(clock), dtype=float)
    channels = {name: Channel(name, samples + place, clock, "N") for place, name in enumerate(names.split())}
    return Recording(channels, Path(source) if source else None, "csv")


def test_even_clock_states_rate_duration_and_no_gap():
    clock = Clock("imu", np.arange(1001) / 1000)
    assert clock.rate_hz == pytest.approx(1000)
    assert clock.duration_s == pytest.approx(1.0)
    assert clock.largest_gap_s == pytest.approx(1e-3)
    assert clock.gaps == 0
    assert clock.jitter_s < 1e-12


def test_rate_survives_gaps_and_rounded_stamps():
    with_gap = np.concatenate([np.arange(100), np.arange(500, 600)]) / 100
    assert Clock("a", with_gap).rate_hz == pytest.approx(100)
    assert Clock("a", with_gap).gaps == 1
    assert Clock("a", with_gap).largest_gap_s == pytest.approx(4.01)
    # 300 Hz stamped in whole milliseconds: the median step alone would say 333 Hz.
    assert Clock("b", np.floor(np.arange(3000) / 300 * 1000) / 1000).rate_hz == pytest.approx(300, rel=1e-3)


def test_clock_of_one_sample_has_no_rate():
    clock = Clock("a", np.zeros(1))
    assert np.isnan(clock.rate_hz)
    assert np.isnan(clock.largest_gap_s)
    assert clock.duration_s == 0.0
    assert clock.gaps == 0


@pytest.mark.parametrize(
    ("times", "message"),
    [
        ([0.0, 1.0, 0.5], r"row 3 time goes backwards: 0\.5 s after 1 s"),
        ([0.0, 1.0, 1.0], "row 3 time stands still"),
        ([0.0, float("nan")], "row 2 the time is missing"),
    ],
)
def test_clock_refuses_disorder(times, message):
    with pytest.raises(DataProblem, match=message):
        Clock("a", np.array(times))


def test_channel_refuses_wrong_shapes_and_units():
    clock = Clock("a", np.arange(4.0))
    with pytest.raises(DataProblem, match=r"\(3,\) samples do not fit a clock of 4"):
        Channel("x", np.zeros(3), clock)
    with pytest.raises(DataProblem, match="'mm' is not an SI unit"):
        Channel("x", np.zeros(4), clock, "mm")


def test_values_cannot_be_edited_and_the_callers_array_stays_free():
    mine = np.zeros((4, 3))
    channel = Channel("x", mine, Clock("a", np.arange(4.0)), "m")
    with pytest.raises(ValueError, match="read-only"):
        channel.samples[0, 0] = 1.0
    mine[0, 0] = np.nan
    assert channel.missing == 1


def test_lookup_by_last_part_when_unique():
    rec = recording("WB:Door1 A/Fx B/Fx", Clock("a", np.arange(3.0)), "file.csv")
    assert rec["Door1"].name == "WB:Door1"
    assert "Door1" in rec
    assert "Fx" not in rec
    with pytest.raises(DataProblem, match=r"file\.csv: 'Fx' could be 'A/Fx' or 'B/Fx'"):
        rec["Fx"]
    with pytest.raises(UnknownName, match=r"file\.csv: there is no channel 'Dor1'.*Did you mean"):
        rec["WB:Dor1".removeprefix("WB:")]


def test_stack_is_fortran_ordered_and_of_one_clock():
    clock = Clock("a", np.arange(5.0))
    rec = recording("Fx Fy Fz", clock)
    stacked = rec.stack(["Fz", "Fx"])
    assert stacked.shape == (5, 2)
    assert stacked.flags.f_contiguous
    np.testing.assert_array_equal(stacked[:, 0], rec["Fz"].samples)
    other = Channel("t", np.zeros(4), Clock("b", np.arange(4.0)))
    vector = Channel("p", np.zeros((5, 3)), clock, "m")
    more = Recording({**rec.channels, "t": other, "p": vector})
    with pytest.raises(DataProblem, match="'Fx' runs on 'a', 't' on 'b'"):
        more.stack(["Fx", "t"])
    with pytest.raises(DataProblem, match="three components"):
        more.stack(["Fx", "p"])
    with pytest.raises(DataProblem, match="no channels"):
        more.stack([])
    assert [c.name for c in more.clocks] == ["a", "b"]
    assert list(more.select(["t", "Fy"])) == ["t", "Fy"]


def test_merge_prefixes_what_clashes_and_only_that():
    one = recording("Fx Fy", Clock("Platform", np.arange(3.0)), "one.mat")
    two = recording("Fx Tz", Clock("Platform", np.arange(4.0)), "two.mat")
    both = merge_recordings([one, two])
    assert list(both) == ["one/Fx", "Fy", "two/Fx", "Tz"]
    assert [clock.name for clock in both.clocks] == ["one/Platform", "two/Platform"]
    assert both["Tz"].clock is both["two/Fx"].clock
    assert both.stack(["one/Fx", "Fy"]).shape == (3, 2)


def test_merge_of_equal_stems_takes_the_folder_too():
    clock = Clock("a", np.arange(3.0))
    both = merge_recordings([recording("Fx", clock, "monday/x.csv"), recording("Fx", clock, "friday/x.csv")])
    assert list(both) == ["monday/x/Fx", "friday/x/Fx"]
    same = merge_recordings([recording("Fx", clock, "monday/x.csv")] * 2)
    assert list(same) == ["monday/x#1/Fx", "monday/x#2/Fx"]


def test_recordings_can_be_sent_to_another_process():
    rec = recording("Fx", Clock("a", np.arange(3.0)), "a.csv")
    again = pickle.loads(pickle.dumps(rec))
    np.testing.assert_array_equal(again["Fx"].samples, rec["Fx"].samples)
    assert again.source == rec.source
