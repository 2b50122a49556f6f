"""The months of every time zone, 2000 to 2100: our reader of TZif files against Python's."""

from __future__ import annotations

import subprocess
import zoneinfo
from datetime import UTC, datetime, timedelta
from pathlib import Path

from support import BUILD, report

FROM, TO = 2000, 2100
FOLDER = Path("/usr/share/zoneinfo")


def wall(second: int, zone: zoneinfo.ZoneInfo) -> datetime:
    moment = datetime.fromtimestamp(second, UTC)
    return moment.astimezone(zone).replace(tzinfo=None)


def shows(second: int, first: datetime, zone: zoneinfo.ZoneInfo) -> bool:
    """Whether the clocks of the zone show the first of the month, or later, at this second."""
    return wall(second, zone) >= first


def test_months_begin_where_clocks_first_show_them() -> None:
    names = sorted(n for n in zoneinfo.available_timezones() if (FOLDER / n).is_file())
    names = [n for n in names if n != "localtime"]  # is another zone on each machine
    assert len(names) > 400
    done = subprocess.run(
        [BUILD / "src/sys/zone_months", str(FROM), str(TO), *names],
        check=True,
        capture_output=True,
        text=True,
    )
    firsts = [datetime(y, m, 1) for y in range(FROM, TO + 1) for m in range(1, 13)]
    compared = 0
    for line in done.stdout.splitlines():
        name, *numbers = line.split()
        zone = zoneinfo.ZoneInfo(name)
        starts = [int(n) for n in numbers]
        assert len(starts) == len(firsts), name
        for first, start in zip(firsts, starts, strict=True):
            assert shows(start, first, zone), f"{name} {first}"
            assert not shows(start - 1, first, zone), f"{name} {first}"
            compared += 1
        for first, start in zip(firsts, starts, strict=True):
            # Not even for an hour before: where clocks go back over the line, the first time counts.
            assert wall(start - 7200, zone) < first, f"{name} {first}"
            assert wall(start, zone) - first < timedelta(days=2), f"{name} {first}"
    report(f"{compared} months of {len(names)} zones compared")
    assert compared == len(names) * len(firsts)
