"""What a newcomer has: three bare CSV files of a door (poses by a tracker, two load cells), no experiment file."""

from __future__ import annotations

from pathlib import Path

from tests.pose_files import DOOR, SENSORS, write_door

CELLS = [(R.as_euler("xyz", degrees=True).tolist(), r.tolist()) for R, r in SENSORS[:2]]
"""Of each load cell on the tracked body, from the drawing: turns about x, y, z (deg), and place (m)."""
TRUTH = DOOR


def write_three(folder: Path) -> None:
    """tracker.csv, left.csv and right.csv with headers as instruments write them."""
    write_door(folder, 0, cells=2)
    headers = {"robot.csv": "t,x [m],y [m],z [m],qx,qy,qz,qw"}
    headers |= {f"wrist{i}.csv": "t,Fx [N],Fy [N],Fz [N],Tx [Nm],Ty [Nm],Tz [Nm]" for i in range(2)}
    for old, new in (("robot.csv", "tracker.csv"), ("wrist0.csv", "left.csv"), ("wrist1.csv", "right.csv")):
        _, _, rows = (folder / old).read_text(encoding="utf-8").partition("\n")
        (folder / new).write_text(f"{headers[old]}\n{rows}", encoding="utf-8")
    for name in ("robot.csv", "wrist0.csv", "wrist1.csv", "poses.yaml", "free-door.yaml"):
        (folder / name).unlink()
