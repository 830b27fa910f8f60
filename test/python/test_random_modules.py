"""Random modules of PyTorch through the capture; see test/fuzz/modules.

`./dev fuzz-modules` runs more of them.
"""

from __future__ import annotations

import sys

import pytest

pytest.importorskip("torch", reason="capturing needs PyTorch")

from regather_tools import ROOT  # noqa: E402

sys.path.insert(0, str(ROOT / "test" / "fuzz" / "modules"))
# pylint: disable=wrong-import-position
import check_module  # noqa: E402
from campaign_modules import ModuleCampaign, run_campaign  # noqa: E402

MODULES = 24


def test_captures_equal_eager_or_are_refused() -> None:
    tally = run_campaign(ModuleCampaign(first=0, count=MODULES, engine=8))
    assert tally.cases == MODULES
    assert not tally.finds
    # What is random is not in vain: most are captured, and some run.
    assert tally.results["equal"] >= MODULES // 2
    assert tally.engine["equal"] >= 1


@pytest.mark.parametrize("key", [("loss", None), ("gradient", "head.weight"),
                                 ("new", "head.weight")])
def test_a_wrong_capture_is_a_find(monkeypatch: pytest.MonkeyPatch,
                                   key: tuple[str, str | None]) -> None:
    right = check_module.run_graph

    def wrong(*arguments):  # type: ignore[no-untyped-def]
        for results in right(*arguments):
            yield results | {key: results[key] * 1.01}
    assert check_module.check(0, engine=False)["result"] == "equal"
    monkeypatch.setattr(check_module, "run_graph", wrong)
    with pytest.raises(check_module.Find, match="is off by"):
        check_module.check(0, engine=False)


def test_a_module_that_ends_its_process_is_a_find() -> None:
    # No module takes so little time.
    tally = run_campaign(ModuleCampaign(first=0, count=3, jobs=1, seconds=0.01))
    assert [find["case"] for find in tally.finds] == [0, 1, 2]
