"""The results of the last benchmarks as MyST, for the page "Speed and precision"."""

import json
from pathlib import Path

from book.claims.ledger import markdown_row

CONTENDERS = {
    "loop": "a plain loop, one network at a time",
    "vmap": "`torch.func`, the seeds of one architecture at a time",
    "trainer": "this book's trainer, all networks at a time",
}
WORTH = 0.05  # share of a step that a compiler must save to be worth it


def snippets(results: Path) -> dict[str, str]:
    """File name -> MyST, from the results of `python -m book bench` in a folder, one file for each machine."""
    kinds = {
        "speed.md": ("train", _speed),
        "speed_mahalanobis.md": ("mahalanobis", _mahalanobis),
        "speed_geometry.md": ("geometry", _geometry),
        "precision.md": ("equivalence", _precision),
    }
    files = [json.loads(path.read_text(encoding="utf-8")) for path in sorted(results.glob("*.json"))]
    written = {name: [write(f) for f in files if part in f] for name, (part, write) in kinds.items()}
    return {name: "\n\n".join(texts or ["Not measured yet."]) + "\n" for name, texts in written.items()}


def _table(result: dict, part: str, said: str, head: list[str], rows: list[list[str]], *after: str) -> str:
    """Where and when a part was measured and what was, a table, and paragraphs after it."""
    lines = [f"Measured on {result['machine']}, on {result[part]['date']}: {said}", ""]
    lines += [markdown_row(cells) for cells in (head, ["---"] * len(head), *rows)]
    return "\n".join([*lines, *(line for paragraph in after for line in ("", paragraph))])


def _speed(result: dict) -> str:
    t, rows = result["train"], []
    for name, title in CONTENDERS.items():
        rate, memory = _spread(t["network_steps_per_second"][name]), t["peak_memory_mb"][name]
        times = "" if name == "trainer" else f"{_spread(t[f'ratio_to_{name}'])} times as many"
        rows.append([title, rate, times, f"{memory:,} MB"])
    costs = ", ".join(f"{axis} {power:g}" for axis, power in t["exponents"].items())
    return _table(
        result,
        "train",
        f"{t['networks']} networks on {t['images']:,} images ({t['data']}), products in {t['precision']} "
        f"({t['routine']}), {t['turns']} turns. Each number is the median of the turns, with the lowest and the "
        "highest.",
        ["", "network-steps per second", "the trainer does", "peak memory"],
        rows,
        f"The bare products reach {_spread(t['product_gflops'])} GFLOP/s. At that rate those of all pixels take "
        f"{_percent(t['share_of_peak'])} of the time of the trainer's whole step{_left_out(t)}. "
        f"The exponents of its cost: {costs}.{_outside_products(t)}",
    )


def _left_out(t: dict) -> str:
    if not (share := t.get("work_left_out")):  # missing in results of older versions, which left nothing out
        return ""
    return f"; the step leaves out {100 * share:.0f}% of their work, pixels that no image of a chunk inks"


def _mahalanobis(result: dict) -> str:
    m, rows = result["mahalanobis"], []
    for dimension, ratio in m["ratio_to_sequential"].items():
        one, stack = (_spread(m["microseconds_per_network_epoch"][dimension][k]) for k in ("sequential", "stack"))
        rows.append([dimension, one, stack, f"{_spread(ratio)} times as fast"])
    said = f"{m['networks']} networks in {m['precision']}, {m['turns']} turns; microseconds for one epoch of one "
    head = ["", "one after another", "as one stack", "the stack is"]
    return _table(result, "mahalanobis", f"{said}network.", head, rows)


def _geometry(result: dict) -> str:
    g = result["geometry"]
    v, (inputs, units), (points, width) = g["log_volume"], g["map"], g["grid"]
    milliseconds = {name: _spread(s) for name, s in v["milliseconds_per_point"].items()}
    return _table(
        result,
        "geometry",
        f"log-volumes of a sigmoid layer {inputs} → {units} at {g['points']} points, in float64; milliseconds per "
        "point.",
        ["", "milliseconds", "times as fast as `jacrev` and `svdvals`"],
        [
            ["`torch.func.jacrev`", milliseconds["jacrev"], ""],
            ["`torch.linalg.svdvals`", milliseconds["svdvals"], ""],
            ["`log_volume_element`, any module", milliseconds["module"], _spread(v["module_ratio_to_svd"])],
            ["`shallow_log_volume_element`", milliseconds["shallow"], _spread(v["ratio_to_svd"])],
        ],
        f"All three agree within {v['max_error']:.0e}. The factorisation alone is "
        f"{_spread(v['factorisation_ratio'])} times as fast as the singular values, and of the time that "
        f"the weights save, {_percent(v['share_of_gain_from_jacobian'])} is the Jacobian's. Ricci scalars "
        f"at {points:,} points of a layer of width {width} take {_spread(g['ricci_grid_seconds'])} seconds.",
        *([_deep(g["deep"])] if "deep" in g else []),  # missing in results of older versions
    )


def _deep(d: dict) -> str:
    (depth, width), graph = d["network"], d["create_graph"]
    said = (
        f"The exact log-volume of the features of an untrained ResNet-{depth} of width {width} at one image "
        f"({d['outputs']:,} outputs, {d['inputs']:,} inputs, float32) takes {_spread(d['seconds_per_point'])} "
        f"seconds and {_bytes(d['extra_memory_bytes'])} beyond the network itself, with {d['chunk_size']} rows of "
        "the Jacobian at a time. The Jacobian alone, from `torch.func.jacrev`, takes "
        f"{_spread(d['ratio_to_jacrev'])} times as long."
    )
    if graph["extrapolated_bytes"] is None:
        return said
    narrow, full = (_bytes(size) for size in graph["extrapolated_bytes"].values())
    return (
        f"{said} `jacobian(create_graph=True)` of `torch.autograd.functional` keeps a graph for every row. At width "
        f"{graph['network'][1]} a row needs {_bytes(graph['bytes_per_row'])}, measured on {graph['rows'][0]} to "
        f"{graph['rows'][-1]} rows. By extrapolation all {graph['outputs']:,} rows would need {narrow}, and those of "
        f"the network of full width {full}."
    )


def _bytes(size: float) -> str:
    return f"{size / 1e9:.3g} GB" if size >= 1e9 else f"{size / 1e6:.0f} MB"


def _outside_products(t: dict) -> str:
    if t["elementwise_share"] is None:  # a GPU, where single products cannot be timed
        return ""
    said = f" Of a step, {_percent(t['elementwise_share'])} is spent outside the products."
    if t["compile_ratio"] is None:
        return said
    saved = t["elementwise_share"]["median"] * (1 - 1 / t["compile_ratio"]["median"])
    verdict = "so it would pay" if saved > WORTH else "so it stays out"
    return (
        f"{said} `torch.compile` does that part at {_spread(t['compile_ratio'])} times the speed of the trainer's "
        f"code, which would change the time of a step by {-100 * saved:+.1f}%, {verdict}."
    )


def _precision(result: dict) -> str:
    e, rows = result["equivalence"], []
    networks = list(e["modes"]["fp32"]["accuracy"])
    steps = ", ".join(e["modes"]["fp32"]["drift"]["float64"])
    for name, mode in e["modes"].items():
        drift = ", ".join(f"{x:.1g}" for x in mode["drift"].get("float64", {}).values())
        cells = [_accuracy(mode["accuracy"][network]) for network in networks]
        rows.append([f"`{name}`", f"{mode['error']:.1g}", drift, *cells, "**yes**" if mode["moves"] else "no"])
    said = f"the first {e['images']:,} images of {e['data']} as raw bytes, {e['steps']} steps, {e['seeds']} seeds."
    head = ["", "error of a product", f"drift after {steps} steps", *networks, "shift detected"]
    return _table(result, "equivalence", said, head, rows)


def _accuracy(a: dict) -> str:
    """Mean and SD; below, the difference from plain fp32 with its interval and the Kolmogorov-Smirnov p-value."""
    line = f"{a['mean']:.2f} ± {a['sd']:.2f}"
    if pair := a.get("against fp32"):
        line += f"<br>{pair['difference']:+.2f} [{pair['low']:.2f}, {pair['high']:.2f}], *p* = {pair['p']:.2g}"
    return line


def _spread(s: dict, scale: float = 1, unit: str = "") -> str:
    median, low, high = (f"{scale * s[key]:.3g}" for key in ("median", "low", "high"))
    return f"{median}{unit} [{low}, {high}]"


def _percent(s: dict) -> str:
    return _spread(s, 100, "%")
