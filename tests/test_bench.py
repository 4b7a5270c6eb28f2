"""The benchmarks: that they compare the same networks and say what they promise. How fast is not tested."""

import importlib
import json
import re
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
import torch
from agreement import tiny

from book.site import speed
from book.site.publish import ROOT
from support.training.classifiers.products import OWN

sys.path.insert(0, str(ROOT))  # the benchmarks stand beside the package, not in it
benchmarks = importlib.import_module("benchmarks")
contenders, train, equivalence = (
    importlib.import_module(f"benchmarks.{name}") for name in ("contenders", "train", "equivalence")
)
CPU = torch.device("cpu")


@pytest.fixture
def specs():
    return [replace(s, rate=1e-4) for s in train.networks(tiny(), seeds=2, precision="fp32", hidden=8)]


def test_all_three_train_the_same_networks(specs):
    """Three steps of the loop, of vmap and of the trainer: the same weights up to float32."""
    images = contenders.Images(tiny(), CPU)
    loop, trainer = contenders.Loop(specs, tiny(), images, CPU), contenders.Trainer(specs, tiny(), CPU)
    ensembles = [contenders.Vmap(specs[i : i + 2], tiny(), images, CPU) for i in range(0, len(specs), 2)]
    for _ in range(3):
        seen = loop.step()
        for contender in (trainer, *ensembles):
            contender.step()
    assert loop.networks == trainer.networks == sum(e.networks for e in ensembles) == 12
    for m, weights in enumerate(trainer.stack.weights()):
        for ours, theirs in contenders.NAMES.items():
            start = contenders.module(specs[m], tiny(), CPU).state_dict()[theirs]
            expected = loop.modules[m].state_dict()[theirs]
            assert not torch.equal(start, expected), f"{specs[m].architecture}: {theirs} did not move"
            torch.testing.assert_close(weights[ours], expected, rtol=1e-3, atol=1e-5)
            torch.testing.assert_close(ensembles[m // 2].parameters[theirs][m % 2], expected, rtol=1e-3, atol=1e-5)
    accuracy = trainer.stack.measure(moments=False)["accuracy"][1]
    np.testing.assert_allclose(accuracy, [100 * s[2] for s in seen], atol=1e-4)


@pytest.mark.parametrize(("hidden", "output", "negated"), [("relu", "relu", True), ("abs", None, False)])
def test_what_the_compiler_is_given_is_what_the_trainer_computes(hidden, output, negated):
    generator = torch.Generator().manual_seed(0)
    z, head = (torch.randn(s, generator=generator, requires_grad=True) for s in ((5, 6), (2, 4, 3)))
    hot = torch.eye(4)[:, [0, 1, 2, 3, 0]]
    act = {"relu": torch.relu, "abs": torch.abs, None: lambda t: t}
    y = act[output](torch.einsum("ngh,gch->gcn", act[hidden](z.view(5, 2, 3)), head))
    loss = -(torch.log_softmax(-y if negated else y, 1) * hot).sum()
    expected = torch.autograd.grad(loss, (z, head))
    dz, dhead, dbias = train.between(z, head, hot, hidden, output, negated)
    torch.testing.assert_close((dz, dhead, dbias), (*expected, expected[0].sum(0)))


@pytest.mark.parametrize(("least", "calls"), [(0, 1), (8, 1), (9, 2), (24, 3)])
def test_calls_are_repeated_until_there_is_something_to_time(monkeypatch, least, calls):
    clock = [0]  # advanced by the work alone, 8 seconds a call
    monkeypatch.setattr(train.time, "perf_counter", lambda: clock[0])

    def work():
        clock[0] += 8

    assert train.per_call(work, CPU, least) == 8
    assert clock == [8 * calls]


def test_without_mnist_a_step_leaves_out_about_as_much(monkeypatch):
    """As measured on MNIST's first 6,000 images: 0.28 of the work of 666 pixels; 0.41 of 719 on all."""
    monkeypatch.delenv("BOOK_DATA", raising=False)
    dataset = train.images_like_mnist(6000)
    assert (dataset.train_images == 0).mean() == pytest.approx(0.81, abs=0.01)
    stack = contenders.Trainer(train.networks(dataset, seeds=1, precision="fp32")[:1], dataset, CPU).stack
    done = sum(c.pixels * len(c.operand) for c in stack.train.chunks) / (6000 * len(stack.kept))
    assert done == pytest.approx(0.72, abs=0.03) and len(stack.kept) == pytest.approx(666, abs=40)


def test_a_spread_has_three_digits():
    assert train.spread([2.0, 1.23456, 9.9]) == {"median": 2.0, "low": 1.23, "high": 9.9}


@pytest.mark.slow
def test_bench_prints_one_object():
    before = {p: p.read_bytes() for p in (ROOT / "benchmarks" / "results").iterdir()}
    command = [sys.executable, "-m", "book", "bench", "--quick", "--json"]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    result = json.loads(run.stdout)
    assert "torch" in result["machine"]
    found = result["train"]
    assert found["exponents"].keys() == {"seeds", "steps", "images", "width"}
    assert all(0 < e < 2 for e in found["exponents"].values()), found["exponents"]
    for key in ("ratio_to_loop", "ratio_to_vmap", "share_of_peak", "elementwise_share"):
        assert 0 < found[key]["low"] <= found[key]["median"] <= found[key]["high"], key
    assert all(megabytes > 0 for megabytes in found["peak_memory_mb"].values())
    assert before == {p: p.read_bytes() for p in (ROOT / "benchmarks" / "results").iterdir()}


# -- equivalence --------------------------------------------------------------------------------------------------


def run_of(accuracy, weight=1.0):
    M = len(accuracy)
    return equivalence.Run({1: np.full((M, 3), weight), 10: np.full((M, 3), 2 * weight)}, np.array(accuracy))


def test_a_mode_that_moves_the_distribution_is_noticed():
    rng = np.random.default_rng(0)
    reference = rng.normal(90, 2, 200)
    runs = {
        "float64": run_of(reference),
        "fp32": run_of(reference + rng.normal(0, 0.1, 200), weight=1.001),
        "wider": run_of(90 + 4 * (reference - 90)),
        "lower": run_of(reference - 1 + rng.normal(0, 0.1, 200)),
    }
    assert {name: equivalence.judge(name, runs)["moves"] for name in runs} == {
        "float64": False,
        "fp32": False,
        "wider": True,
        "lower": True,
    }
    assert equivalence.judge("fp32", runs)["drift"] == {"float64": {"1": 0.001, "10": 0.001}}
    against = equivalence.judge("lower", runs)["accuracy"]["ReLU2"]["against float64"]
    assert against["low"] < -1 < against["high"] < -0.9


def test_a_coarser_product_drifts_further():
    dataset = equivalence.load("digits").first(100)
    sizes = equivalence.Sizes(images=100, seeds=2, steps=1, looks=(1,))
    modes = equivalence.modes(CPU)
    runs = {name: equivalence.train(products, dataset, sizes, CPU) for name, products in modes.items()}
    assert list(runs) == ["float64", "fp32", "fp32 onednn"] + [
        f"fp32 {name}" for name, own in OWN.items() if own.load()
    ]
    errors = {name: equivalence.error_of(products, CPU) for name, products in modes.items()}
    assert errors["float64"] < 1e-15 < 1e-8 < errors["fp32"] < 1e-6
    assert 0 < equivalence.judge("fp32", runs)["drift"]["float64"]["1"] < 1e-6


# -- the page -----------------------------------------------------------------------------------------------------


def test_the_page_tells_the_committed_results():
    """Of every machine, each in a file of its own that bears its name."""
    found = speed.snippets(ROOT / "benchmarks" / "results")
    machines = []
    for path in (ROOT / "benchmarks" / "results").glob("*.json"):
        result = json.loads(path.read_text())
        for part in result.keys() - {"machine"}:
            assert benchmarks.result_file(part, result["machine"]) == path
        if "train" in result:
            machines.append(result["machine"])
            ratio = result["train"]["ratio_to_loop"]
            assert (
                f"{ratio['median']:.3g} [{ratio['low']:.3g}, {ratio['high']:.3g}] times as many" in found["speed.md"]
            )
        for name in result.get("equivalence", {}).get("modes", []):
            assert f"| `{name}` |" in found["precision.md"]
    assert machines and all(machine in found["speed.md"] for machine in machines)


def test_the_memory_of_a_deep_network_is_as_chapter_8_and_the_page_say():
    files = sorted((ROOT / "benchmarks" / "results").glob("*.json"))
    geometry = [json.loads(path.read_text()).get("geometry", {}) for path in files]
    measured = [found["deep"] for found in geometry if "deep" in found]
    assert measured
    for found in measured:
        assert (found["network"], found["outputs"]) == ([50, 64], 2048)
        assert found["extra_memory_bytes"] < 1e9  # "less than 1 GB"
        assert 60e9 < found["create_graph"]["extrapolated_bytes"]["full width"] < 120e9  # "about 80 GB"


def test_a_part_that_no_machine_has_measured_is_said_to_be_missing(tmp_path):
    assert set(speed.snippets(tmp_path).values()) == {"Not measured yet.\n"}


@pytest.mark.slow
def test_the_report_on_a_network_is_measured_in_time_and_memory():
    networks = benchmarks.run("diagnosis", device="cpu", quick=True)["diagnosis"]["networks"]
    assert list(networks) == ["resnet18", "mobilenet_v3_small", "vit_tiny"]
    for found in networks.values():
        assert len(found["parts"]) == 5 and found["missing"] == {}
        assert found["seconds"] > 0 and 1e8 < found["peak_memory_bytes"] < 4e9


def test_the_other_parts_are_measured_and_told():
    """Quickly: what is required of them is there, and the page says it; how fast it is, is for `make bench`."""
    result = {}
    for part in ("mahalanobis", "geometry"):
        result |= benchmarks.run(part, device="cpu", quick=True)
    ratios = result["mahalanobis"]["ratio_to_sequential"]
    assert ratios.keys() == {"d=2", "d=10"} and all(r["low"] <= r["median"] <= r["high"] for r in ratios.values())
    assert result["mahalanobis"]["precision"] == "float64"
    volume = result["geometry"]["log_volume"]
    assert volume["max_error"] < 1e-9 and result["geometry"]["ricci_grid_seconds"]["median"] > 0
    assert f"{ratios['d=2']['median']:.3g} [" in speed._mahalanobis(result)
    assert f"| {volume['ratio_to_svd']['median']:.3g} [" in speed._geometry(result)
    deep = result["geometry"]["deep"]
    assert 0 < deep["extra_memory_bytes"] < 2**30 and deep["difference"] < 1e-3
    assert all(deep[key]["median"] > 0 for key in ("seconds_per_point", "ratio_to_jacrev"))
    assert deep["create_graph"]["rows"] == [4, 8] and "times as long" in speed._geometry(result)
    del result["geometry"]["deep"]  # as in results of older versions
    assert "times as long" not in speed._geometry(result)


deep = importlib.import_module("benchmarks.deep")


def test_memory_of_create_graph_is_a_straight_line():
    sizes = deep.Sizes(depth=10, width=8, narrow=2, rows=(4, 8, 12))
    found = deep.extrapolated(sizes, [500, 700, 900])
    assert found["bytes_per_row"] == 50 and found["outputs"] == 16
    assert found["extrapolated_bytes"] == {"narrow": 500 + 12 * 50, "full width": 4 * 50 * 4 * 16}
    spreads = dict.fromkeys(("seconds_per_point", "ratio_to_jacrev"), {"median": 1.0, "low": 1.0, "high": 1.0})
    network = {"network": [10, 8], "outputs": 64, "inputs": 3072, "chunk_size": 64, "extra_memory_bytes": 2e9}
    assert "rows would need 0 MB" in speed._deep(network | spreads | {"create_graph": found})
    none = deep.extrapolated(sizes, [500, None, None])
    assert none["extrapolated_bytes"] is None
    assert "create_graph" not in speed._deep(network | spreads | {"create_graph": none})


def test_what_does_not_fit_under_the_limit_has_no_peak(monkeypatch):
    def failing(message):
        def peak_of(work, device):
            raise RuntimeError(message)

        return peak_of

    monkeypatch.setattr(deep, "peak_of", failing("not enough memory: you tried to allocate"))
    assert deep._graph_memory(deep.QUICK, "cpu", 4) is None
    monkeypatch.setattr(deep, "peak_of", failing("another fault"))
    with pytest.raises(RuntimeError, match="another fault"):
        deep._graph_memory(deep.QUICK, "cpu", 4)


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_peak_memory_is_measured_and_limited():
    """In a process of its own, since the limit stays."""
    program = f"""if True:
        import sys
        sys.path.insert(0, {str(ROOT)!r})
        import torch
        from benchmarks import deep
        found = deep.peak_of(lambda: torch.ones(300 * 2**18), torch.device("cpu")) / 2**20
        assert 295 < found < 320, found
        try:
            deep.peak_of(lambda: torch.empty(2 * deep.LIMIT, dtype=torch.uint8), torch.device("cpu"))
        except RuntimeError as error:
            assert "memory" in str(error), error
        else:
            raise AssertionError("no limit")
    """
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("part", "message"),
    [
        ("train", "unknown precision 'fp8' (known: fp32"),
        ("mahalanobis", "unknown precision 'fp8' (known: fp32, float64)"),
        ("geometry", "part 'geometry' has no precision to choose"),
        ("equivalence", "part 'equivalence' has no precision to choose"),
    ],
)
def test_a_precision_that_cannot_be_is_refused_before_anything_is_measured(part, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        benchmarks.run(part, device="cpu", precision="fp8", quick=True)


def test_an_answer_is_kept_only_where_that_is_asked_for(monkeypatch, tmp_path):
    monkeypatch.setattr(benchmarks, "RESULTS", tmp_path)
    monkeypatch.setattr("benchmarks.geometry.measure", lambda *_: {"seconds": 1.0})
    benchmarks.run("geometry", device="cpu")
    assert not list(tmp_path.iterdir())
    benchmarks.run("geometry", device="cpu", keep=True)
    (path,) = tmp_path.iterdir()
    assert json.loads(path.read_text())["geometry"]["seconds"] == 1.0
    with pytest.raises(ValueError, match="quick numbers mean little"):
        benchmarks.run("geometry", device="cpu", quick=True, keep=True)


def test_no_default_moves_the_distribution():
    files = list((ROOT / "benchmarks" / "results").glob("equivalence*.json"))
    assert files
    for path in files:
        modes = json.loads(path.read_text())["equivalence"]["modes"]
        assert not [name for name in ("fp32", "fp32 onednn") if name in modes and modes[name]["moves"]]


@pytest.mark.parametrize(("ratio", "verdict"), [(1.05, "it stays out"), (5.0, "it would pay"), (None, "")])
def test_the_compiler_is_judged_by_what_a_step_would_gain(ratio, verdict):
    share, ratios = (x and dict.fromkeys(("median", "low", "high"), x) for x in (0.1, ratio))
    said = speed._outside_products({"elementwise_share": share, "compile_ratio": ratios})
    assert "10%" in said and verdict in said and ("torch.compile" in said) == bool(ratio)
    assert speed._outside_products({"elementwise_share": None, "compile_ratio": None}) == ""


def test_every_key_of_the_results_is_explained_on_the_page_of_speed():
    page = (ROOT / "book" / "pages" / "speed.md").read_text(encoding="utf-8")
    results = [json.loads(path.read_text()) for path in sorted((ROOT / "benchmarks" / "results").glob("*.json"))]
    keys = {key for found in results for part in found.values() if isinstance(part, dict) for key in part}
    assert len(keys) > 20
    assert not {key for key in keys | {"machine"} if f"`{key}`" not in page}


def test_the_work_that_a_step_leaves_out_is_told_in_percent():
    assert "leaves out 25% of their work" in speed._left_out({"work_left_out": 0.25})
    assert speed._left_out({}) == ""
