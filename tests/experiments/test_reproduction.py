"""The reproduction: what is run, what is written, and that findings follow the numbers."""

from __future__ import annotations

import json
from dataclasses import replace

import pandas as pd
import pytest

from spofr_core.browser import find_browser
from spofr_core.errors import ConfigError
from spofr_core.evaluation.tradeoffs import multi_group, run_times
from spofr_core.experiments.paper import paper_sweeps as paper
from spofr_core.experiments.paper.findings import findings
from spofr_core.experiments.paper.reproduction import planned_runs, reproduce
from spofr_core.experiments.runs.store import RunStore
from spofr_core.learning import METHODS
from spofr_core.reporting import palette
from spofr_core.reporting import run_figures as draw
from spofr_core.reporting.pictures import write_images
from tests.experiments.frames import run, table

TINY = replace(
    paper.SIZES["small"],
    data={
        "german-credit": paper.DataSizes(40, (30, 40), lists=10, test_lists=12),
        "mslr": paper.DataSizes(40, (40,), lists=10, test_lists=12),
        "adult": paper.DataSizes(40, (30, 40), lists=10, test_lists=12),
    },
    deltas=(0.0, 0.4),
    few_deltas=(0.0, 0.4),
    penalties=(0.0, 1.0, 10.0),
    seeds=1,
    group_counts=(2, 3),
    training={"max_steps": 4, "validate_every": 2, "hidden": [4]},
)


@pytest.fixture
def tiny(monkeypatch):
    monkeypatch.setitem(paper.SIZES, "small", TINY)


def test_every_figure_is_drawn_and_told(tiny, tmp_path):
    made = reproduce(["all"], "small", tmp_path, images=False)
    assert made.outcome.ok
    assert {finding.figure for finding in made.findings} == set(paper.FIGURES)
    page = (tmp_path / "index.html").read_text("utf-8")
    for name in paper.FIGURES:
        assert f"id='{name}'" in page
    for sources in ("350, 350 and 300 people (German", "16, 7 and 29 queries (Web", "19,384, 14,804 and 14,654 people"):
        assert sources in page
    assert "<code>--mslr-folder</code>" in page
    for finding in made.findings:
        assert finding.numbers, finding.claim
    told = json.loads((tmp_path / "findings.json").read_text("utf-8"))
    assert len(told["findings"]) == len(made.findings)
    listed = (tmp_path / "findings.md").read_text("utf-8")
    assert all(f"\n- {number}\n" in listed for finding in made.findings for number in finding.numbers)
    for name in ("tradeoff", "grid", "guarantee", "multigroup", "sizes", "runtime", "exact", "price", "matched"):
        assert len(pd.read_parquet(tmp_path / "frames" / f"{name}.parquet")), name
        assert (tmp_path / "frames" / f"{name}.csv").exists()
    exact = pd.read_parquet(tmp_path / "frames" / "exact.parquet")
    assert exact.groupby("dataset").size().to_dict() == {"adult": 41, "german-credit": 41, "mslr": 41}
    drawn = {path.stem for path in (tmp_path / "figures").glob("*.html")}
    assert {"tradeoff-german-credit-spofr", "grid-mslr-exposure", "guarantee-mslr-exposure"} <= drawn
    assert "https://" not in page.replace("https://plotly.com", "").replace("https://plot.ly", "")

    again = reproduce(["grid"], "small", tmp_path, images=False)
    assert again.outcome.done == 0, "runs are shared between figures and calls"


def test_data_that_the_paper_does_not_have_is_judged_by_itself(tiny, tmp_path):
    made = reproduce(["tradeoff", "runtime"], "small", tmp_path, images=False)
    parts = {data: [f for f in made.findings if f.data == data] for data in ("", "adult")}
    assert [f.claim for f in parts["adult"]] == [f.claim for f in parts[""] if f.figure == "tradeoff"]
    told = {data: " ".join(n for f in found for n in f.numbers) for data, found in parts.items()}
    assert "adult" not in told[""]
    assert "german-credit" not in told["adult"]
    assert "mslr" not in told["adult"]
    listed = (tmp_path / "findings.md").read_text("utf-8")
    assert listed.count("On adult: ") == len(parts["adult"]) == 3
    page = (tmp_path / "index.html").read_text("utf-8")
    assert "id='tradeoff-adult'" in page
    assert "id='runtime-adult'" not in page, "run time is measured on one dataset"
    drawn = pd.read_parquet(tmp_path / "frames" / "tradeoff.parquet")
    assert set(drawn["dataset"]) == {"german-credit", "mslr", "adult"}
    assert {path.stem for path in (tmp_path / "figures").glob("tradeoff-adult-*.html")} == {
        "tradeoff-adult-spofr",
        "tradeoff-adult-spofr-published",
    }

    alone = reproduce(["tradeoff"], "small", tmp_path, images=False, datasets=("adult",))
    assert alone.findings == parts["adult"]
    assert alone.outcome.done == 0


def test_a_stopped_reproduction_draws_what_there_is(tiny, tmp_path):
    made = reproduce(["runtime"], "small", tmp_path, stop=lambda: True, images=False)
    assert made.outcome.stopped
    assert "No run behind this figure is done yet" in (tmp_path / "index.html").read_text("utf-8")
    assert any("0 of" in note for note in made.notes)
    assert RunStore(tmp_path / "runs").records() == []


def test_the_plans_have_the_sizes_of_the_paper():
    runs = planned_runs(["tradeoff", "multigroup", "sizes"], "paper")
    assert {(r.dataset.sample, r.clicks) for r in runs} == {
        ("german-credit", 5_000),
        ("german-credit", 50_000),
        ("german-credit", 100_000),
        ("mslr", 12_000),
        ("mslr", 36_000),
        ("mslr", 120_000),
        ("adult", 5_000),
        ("adult", 50_000),
        ("adult", 100_000),
    }
    assert {r.groups for r in runs if r.dataset.sample == "mslr"} == set(range(2, 8))
    assert {r.seed for r in runs} == {0, 1, 2}
    assert (min(r.delta for r in runs), max(r.delta for r in runs)) == (0.0, 0.4)
    assert {r.dataset.test_lists for r in runs} == {1_500, 4_000}
    assert {r.notion for r in planned_runs(["grid"], "paper")} == {"exposure", "merit"}


def test_figures_share_runs():
    grid, guarantee = planned_runs(["grid"], "small"), planned_runs(["guarantee"], "small")
    assert {r.run for r in grid} == {r.run for r in guarantee}
    assert len(planned_runs(["grid", "tradeoff"], "small")) < len(grid) + len(planned_runs(["tradeoff"], "small"))


def test_a_fold_folder_takes_the_place_of_the_bundled_chunk():
    runs = planned_runs(["multigroup"], "paper", folder="/data/Fold1")
    assert {r.dataset.folder for r in runs} == {"/data/Fold1"}


@pytest.mark.parametrize(
    ("figures", "scale", "datasets"),
    [(["magic"], "small", ("mslr",)), (["grid"], "huge", ("mslr",)), (["grid"], "small", ("hiring",))],
)
def test_what_cannot_be_reproduced(figures, scale, datasets):
    with pytest.raises(ConfigError, match="must be one of"):
        planned_runs(figures, scale, datasets=datasets)


def test_published_spofr_is_run_beside_the_default():
    runs = planned_runs(["tradeoff"], "small", datasets=("german-credit",))
    settings = {method: [r.settings for r in runs if r.method == method] for method in paper.THROUGH}
    assert len(settings["spofr"]) == len(settings["spofr-published"]) == len(runs) / 2
    recipe = METHODS["spofr-published"].recipe
    assert all(each[name] == value for each in settings["spofr-published"] for name, value in recipe.items())
    usual = METHODS["spofr"].defaults
    assert all(each["mix"] == usual["mix"] and each["margin"] is None for each in settings["spofr"])


def verdicts(figure: str, **frames: pd.DataFrame) -> dict[str, str]:
    return {finding.claim: finding.verdict for finding in findings(figure, frames)}


def curve(values: dict[float, list[float]], **columns) -> list[dict]:
    """Runs of one method: delta -> DCG of each seed."""
    return [
        run(f"{columns.get('notion', 'e')}{delta}-{seed}", delta=delta, seed=seed, dcg=dcg, **columns)
        for delta, seeds in values.items()
        for seed, dcg in enumerate(seeds)
    ]


def test_findings_on_the_tradeoff_follow_the_numbers():
    rising = curve({0.0: [1.0, 1.01, 1.02], 0.4: [1.2, 1.22, 1.21]})
    lower = curve({0.0: [0.5, 0.52, 0.51], 0.4: [0.7, 0.72, 0.71]}, notion="merit")
    found = list(verdicts("tradeoff", results=table(*rising, *lower)).values())
    assert found == ["same", "same", "same"]
    flat = curve({0.0: [1.0, 1.2, 0.9], 0.4: [1.1, 1.0, 1.0]})
    above = curve({0.0: [2.0, 2.2, 1.9], 0.4: [2.1, 2.0, 2.0]}, notion="merit", violation_max=0.1)
    found = list(verdicts("tradeoff", results=table(*flat, *above)).values())
    assert found == ["open", "different", "partly"]  # the first is too scattered for three seeds to tell
    level = curve({0.0: [1.0, 1.01, 1.02], 0.4: [1.0, 1.02, 1.01]})
    assert next(iter(verdicts("tradeoff", results=table(*level)).values())) == "different"
    single = curve({0.0: [1.0], 0.4: [1.1]})
    assert next(iter(verdicts("tradeoff", results=table(*single)).values())) == "open"


def test_findings_on_the_grid_follow_the_numbers():
    ours = curve({0.01: [1.5, 1.51, 1.52], 0.4: [1.98, 1.97, 1.99]}, violation_mean=0.004)
    rivals = [
        run(f"f{p}{seed}", method="fultr", penalty=p, violation_mean=v, dcg=1.4 + 0.01 * seed, seed=seed)
        for p, v in ((0.0, 0.1), (1.0, 0.02), (10.0, 0.004))
        for seed in range(3)
    ]
    found = findings("grid", {"results": table(*ours, *rivals)})
    assert [f.verdict for f in found] == ["same", "same", "same", "different", "open"]
    assert "SPOFR minus FULTR +0.570 (95 % interval" in " ".join(found[0].numbers)
    for more, verdict in ((1.1, "different"), (0.57, "different")):  # the rival ahead; no difference to be seen
        better = [row | {"dcg": row["dcg"] + more + 0.01 * (row["seed"] == 1)} for row in rivals]
        assert findings("grid", {"results": table(*ours, *better)})[0].verdict == verdict
    one_seed = table(*ours, *rivals)
    assert findings("grid", {"results": one_seed[one_seed["seed"] == 0]})[0].verdict == "open"


def test_slots_of_the_guarantees_are_compared_seed_by_seed():
    def slots(method, dcg, levels=(0.5, 1.0)):
        row = {"dataset": "d", "notion": "exposure", "delta": 0.05, "method": method, "holds": True}
        return [
            {**row, "level": level, "seed": seed, "dcg": value} for level in levels for seed, value in enumerate(dcg)
        ]

    def judged(*parts):
        bars = pd.DataFrame([row for part in parts for row in part])
        results = table(run("f", method="fultr", penalty=1.0))
        found = findings("guarantee", {"guarantee": bars, "guarantee-by-seed": bars, "results": results})
        (finding,) = (each for each in found if each.claim == "It does so while surpassing the baselines in utility.")
        return finding

    ours = slots("spofr", [1.0, 1.1, 1.2])
    found = judged(ours, slots("fultr", [0.7, 0.81, 0.9], levels=(0.5,)), slots("deltr", [float("nan")] * 3))
    assert found.verdict == "same"
    assert found.numbers == [
        "d, exposure: SPOFR minus FULTR +0.297 (95 % interval +0.282 to +0.311, 3 seeds), "
        "the mean over 1 of 2 bars of SPOFR's.",
        "d, exposure: DELTR has no bar beside one of SPOFR's.",
    ]
    assert judged(ours, slots("fultr", [1.3, 1.41, 1.5])).verdict == "different"
    assert judged(ours, slots("fultr", [0.5, 1.2, 1.1])).verdict == "open"
    assert judged(ours, slots("fultr", [1.3, 1.41, 1.5]), slots("deltr", [0.3, 0.41, 0.5])).verdict == "partly"


def test_findings_on_groups_sizes_and_times_follow_the_numbers():
    groups = [
        run(f"{k}{delta}", groups=k, delta=delta, dcg=1.0 - 0.1 * k * (delta == 0.0))
        for k in (2, 3, 4)
        for delta in (0.0, 0.4)
    ]
    found = verdicts("multigroup", multigroup=multi_group(table(*groups)))
    assert list(found.values()) == ["same", "same"]
    few = [run(f"a{s}", delta=0.1, clicks=10, seed=s, dcg=1.0 + 0.01 * s) for s in range(3)]
    many = [run(f"b{s}", delta=0.1, clicks=99, seed=s, dcg=1.005 + 0.006 * (2 - s)) for s in range(3)]
    assert list(verdicts("sizes", results=table(*few, *many)).values()) == ["same"]
    scattered = [row | {"dcg": 1.0 + 0.3 * (row["seed"] - 1)} for row in many]
    assert list(verdicts("sizes", results=table(*few, *scattered)).values()) == ["open"]
    much = [row | {"dcg": row["dcg"] + 1} for row in many]
    assert list(verdicts("sizes", results=table(*few, *much)).values()) == ["different"]
    times = table(run("s", seconds=1.0, clicks=5000), run("f", method="fultr", penalty=1.0, seconds=9.0, clicks=5000))
    (finding,) = findings("runtime", {"runtime": run_times(times)})
    assert finding.verdict == "different"
    assert "(paper: 39 s and 5 s)" in finding.numbers[0]


def test_grid_figure_greys_what_is_dominated_and_carries_run_names():
    points = pd.DataFrame(
        {
            "run": ["a", "b"],
            "method": ["spofr", "spofr"],
            "delta": [0.1, 0.2],
            "unit": ["absolute", "absolute"],
            "penalty": [None, None],
            "seed": [0, 0],
            "violation_mean": [0.1, 0.2],
            "dcg": [1.0, 0.5],
            "ideal_dcg": [2.0, 2.0],
            "dominated": [False, True],
        }
    )
    marks = [t for t in draw.grid_figure(points).data if t.mode == "markers"]
    drawn = {(t.name, t.marker.color): t.customdata for t in marks if t.customdata}
    assert drawn == {("SPOFR", palette.DOMINATED): ("b",), ("SPOFR", METHODS["spofr"].colour): ("a",)}


def test_grid_figure_names_a_method_whose_models_are_all_dominated():
    shared = {"delta": 0.1, "unit": "absolute", "penalty": None, "seed": 0, "ideal_dcg": 2.0}
    points = pd.DataFrame(
        [
            {"run": "a", "method": "spofr", "violation_mean": 0.1, "dcg": 1.0, "dominated": False, **shared},
            {"run": "b", "method": "pto", "violation_mean": 0.2, "dcg": 0.5, "dominated": True, **shared},
        ]
    )
    named = [t.name for t in draw.grid_figure(points).data if t.showlegend is not False]
    assert named == ["SPOFR", "predict-then-optimise", "muted: dominated", "ideal DCG"]


def test_more_than_four_curves_are_drawn_without_bands():
    def shaded(groups: range) -> int:
        rows = [
            {"groups": k, "delta": d, "dcg": 1.0, "dcg_lower": 0.9, "dcg_upper": 1.1, "ideal_dcg": 2.0}
            for k in groups
            for d in (0.0, 0.1)
        ]
        return sum(t.fill == "toself" for t in draw.tradeoff_figure(pd.DataFrame(rows), "groups").data)

    assert shaded(range(2, 6)) == 4
    assert shaded(range(2, 8)) == 0


def test_guarantee_figure_says_none_where_no_model_qualifies():
    frame = pd.DataFrame(
        {
            "method": ["spofr", "fultr"],
            "delta": [0.0, 0.0],
            "level": [1.0, 1.0],
            "dcg": [1.0, None],
            "dcg_lower": [0.9, None],
            "dcg_upper": [1.1, None],
            "run": ["0123456789abcdef", None],
            "share": [1.0, None],
            "holds": pd.array([True, None], dtype="boolean"),
            "explanation": ["", "No fultr model of 3 holds it."],
        }
    )
    figure = draw.guarantee_figure(frame)
    ours, theirs = (trace for trace in figure.data if trace.type == "bar")
    assert [trace.name for trace in figure.data if trace.showlegend is not False] == ["SPOFR", "FULTR"]
    assert "100% of the queries" in figure.layout.xaxis.title.text
    assert (list(ours.y), list(ours.text)) == ([1.0], [""])
    assert ours.error_y.array[0] == pytest.approx(0.1)
    assert "run 0123456789abcdef" in ours.hovertext[0]
    assert (list(theirs.y), list(theirs.text)) == ([0.0], ["none"])
    assert theirs.hovertext[0] == "No fultr model of 3 holds it."


def test_methods_have_a_colour_and_a_shape_of_their_own():
    styles = METHODS.values()
    assert (
        len({one.colour for one in styles}) == len({one.shape for one in styles}) == len({one.title for one in styles})
    )
    assert len({one.title for one in styles}) == len(styles)


def test_pictures_by_the_browser_at_hand(tmp_path):
    if find_browser() is None:
        pytest.skip("no Chrome or Chromium here")
    frame = pd.DataFrame({"delta": [0.0, 0.1], "dcg": [1.0, 2.0], "dcg_lower": [0.9, 1.9], "dcg_upper": [1.1, 2.1]})
    figure = draw.exact_figure(frame, title="</script><b>x")
    written, problem = write_images({"one": figure}, tmp_path)
    assert problem is None
    assert {path.name for path in written} == {"one.png", "one.svg"}
    assert (tmp_path / "one.png").read_bytes().startswith(b"\x89PNG")
    assert b"<svg" in (tmp_path / "one.svg").read_bytes()


def test_without_a_browser_there_are_no_pictures_and_a_word(tmp_path, monkeypatch):
    empty = draw.exact_figure(pd.DataFrame({"delta": [], "dcg": [], "dcg_lower": [], "dcg_upper": []}))
    written, problem = write_images({"one": empty}, tmp_path, chrome="/bin/false")
    assert written == []
    assert "drew no pictures" in problem
    monkeypatch.setenv("PATH", "")
    written, problem = write_images({"one": empty}, tmp_path)
    assert written == []
    assert problem.startswith("No Chrome or Chromium was found")
