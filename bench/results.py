"""What was measured, and the medians of it."""

from __future__ import annotations

import statistics
from typing import Any

from bench.environments import OURS


class Results:
    """Every single measurement, in the order in which they were taken."""

    def __init__(self, records: list[dict[str, Any]] | None = None) -> None:
        self.records = records if records is not None else []

    def of(self, case: str, contender: str = OURS) -> list[dict[str, Any]]:
        """Give the measurements of a contender in a case."""
        return [
            record
            for record in self.records
            if record["case"] == case and record["contender"] == contender
        ]

    def median(self, case: str, contender: str = OURS, field: str = "seconds") -> float | None:
        """Give the median over the rounds that came to an end, or None."""
        values = [record[field] for record in self.of(case, contender) if field in record]
        return statistics.median(values) if values else None

    def error(self, case: str, contender: str) -> str | None:
        """Give what went wrong in any round, or None."""
        errors = [record["error"] for record in self.of(case, contender) if "error" in record]
        return errors[0] if errors else None

    def ratio(self, case: str, contender: str, field: str = "seconds") -> tuple[float, bool] | None:
        """Give how many times as fast we are, and whether it is only a lower bound."""
        ours = self.median(case, field=field)
        theirs = self.median(case, contender, field)
        if ours and theirs:
            return theirs / ours, False
        least = self.median(case, contender, "at_least")
        return (least / ours, True) if ours and least else None

    def cases(self) -> list[str]:
        """Give the cases in which anything was measured, in order."""
        return list(dict.fromkeys(record["case"] for record in self.records))

    def contenders(self, case: str) -> list[str]:
        """Give who took part in a case, in order."""
        return list(dict.fromkeys(r["contender"] for r in self.records if r["case"] == case))
