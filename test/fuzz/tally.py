"""Counts what became of cases, by pass, by option and by origin."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from typing import Any


def option_names(options: str) -> list[str]:
    """`mode=auto` of an enumeration whole, of other options the name."""
    found = []
    for name, value in re.findall(r"([\w-]+)=(\S+)", options):
        is_word = re.fullmatch(r"[a-z][a-z-]*", value) is not None
        found.append(f"{name}={value}" if is_word else name)
    return found


class Tally:
    def __init__(self, first: int) -> None:
        self.first = first
        self.cases = self.invalid = 0
        self.seconds = 0.0
        self.finds: list[dict[str, Any]] = []
        self.origins: Counter[str] = Counter()
        self.passes: dict[str, Counter[str]] = defaultdict(Counter)
        self.options: dict[str, Counter[str]] = defaultdict(Counter)
        self.invalid_reasons: Counter[str] = Counter()
        self.refusals: Counter[str] = Counter()

    def add(self, case: dict[str, Any]) -> None:
        self.cases += 1
        self.origins[case["origin"]] += 1
        if case["invalid"]:
            self.invalid += 1
            self.invalid_reasons[without_names(case["invalid"])] += 1
        if case["kind"]:
            self.finds.append(case)
        for one in case["passes"]:
            self.passes[one["pass"]][one["result"]] += 1
            if one["result"] == "refused":
                self.refusals[f"{one['pass']}: "
                              f"{without_names(one['reason'])}"] += 1
            for option in option_names(one["options"]):
                self.options[f"{one['pass']} {option}"][one["result"]] += 1

    def finish(self) -> None:
        self.finds.sort(key=lambda find: find["case"])

    def summary(self) -> dict[str, Any]:
        """As JSON; equal cases give equal text but for the seconds."""
        def table(counts: dict[str, Counter[str]]) -> dict[str, Any]:
            return {name: dict(sorted(counts[name].items()))
                    for name in sorted(counts)}

        def most(counts: Counter[str]) -> dict[str, int]:
            order = sorted(counts.items(), key=lambda one: (-one[1], one[0]))
            return dict(order[:60])

        return {"first": self.first, "cases": self.cases,
                "invalid": self.invalid, "seconds": round(self.seconds, 1),
                "origins": dict(sorted(self.origins.items())),
                "passes": table(self.passes), "options": table(self.options),
                "refusals": most(self.refusals),
                "invalid_reasons": most(self.invalid_reasons),
                "finds": [{key: find[key] for key in
                           ("case", "origin", "kind", "message")}
                          for find in self.finds]}


def without_names(message: str) -> str:
    """The message with its names and numbers left out, so that equal faults
    count together."""
    message = re.sub(r'"[^"]*"', '"..."', message.split("\n")[0])
    return re.sub(r"\d+", "N", message)[:160]
