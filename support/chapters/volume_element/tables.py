"""The tables and sentences of the chapter on the volume element."""

import itertools

import numpy as np
import pandas as pd
import torch

from support import geometry
from support.chapters.volume_element import claims
from support.chapters.volume_element.pictures import grid, ricci_map
from support.chapters.volume_element.results import ARMS, at, through_training, weights
from support.evidence.statistics import mean_interval
from support.evidence.verdicts import LEAST_SEEDS
from support.training.sigmoid.specs import KNOWN
from support.training.sigmoid.views import log_volume
from support.words import ranged

LABELS = KNOWN["labels"]
CONTRASTS = ("contrast", "contrast, step 0", "contrast, shuffled labels")


def interval(values, digits: int = 2) -> str:
    """Mean and 95% interval over networks, as text; of too few to be judged the mean alone."""
    values = np.asarray(values, float)
    values = values[np.isfinite(values)]
    if len(values) < LEAST_SEEDS:
        return f"{values.mean():+.{digits}f}" if len(values) else "-"
    found = mean_interval(values)
    return f"{found:+.{digits}f}"


def networks_told(arms) -> str:
    """How many networks a width the arms have that count, for captions."""
    return ranged((len(arm.of(w)) for arm in arms for w in arm.study.widths), "network")


def states(arms) -> pd.DataFrame:
    """What every claim's rule finds at every width; "-" where it is not asked or has too few networks."""
    found = {}
    for claim in claims.CLAIMS:
        row = found[claim.id] = {}
        for arm in arms:
            for width in arm.study.widths:
                asked = arm.name in claim.asked.names or arm.name not in ARMS
                finding = claim.rule.at(arm.since(claim.from_seed), width) if asked else None
                row[arm.name, width] = finding.state if finding else "-"
    return pd.DataFrame(found).T.rename_axis(columns=["task", "width"])


def conclusions(arms) -> str:
    """A line a claim: at which widths of which task it holds, fails or is unclear; Markdown."""
    found, lines = states(arms), []
    for claim in claims.CLAIMS:
        parts = []
        for state, words in (("holds", "holds"), ("fails", "fails"), ("unclear", "is unclear")):
            row = found.loc[claim.id]
            where = {a.name: [str(w) for w in a.study.widths if row[a.name, w] == state] for a in arms}
            told = [f"{name} ({', '.join(widths)} units)" for name, widths in where.items() if widths]
            parts += [f"{words} on {', '.join(told)}"] if told else []
        lines.append(
            f"- **{claim.id}**, {claim.says[0].lower()}{claim.says[1:-1]}: {'; '.join(parts) or 'not judged'}."
        )
    return "\n".join(lines)


def change_sentence(runs_by_width: dict, points: int = 20) -> str:
    """How far training moved the maps of one network of each width, over the square."""
    x, said = grid(points), []
    for width, run in runs_by_width.items():
        before, after = (log_volume(weights(run, epoch), x) for epoch in (0, run.spec.epochs))
        change = (after - after.mean() - before + before.mean()).square().mean().sqrt()
        said.append(f"{float(change):.2f} nats at width {width}")
    return "Training changes the shape of the map by " + ", ".join(said) + " (root mean square, means removed)."


def curvature_sentence(runs_by_width: dict, points: int = 20) -> str:
    """How curved the trained layers are, over the square."""
    x, said = grid(points), []
    for width, run in runs_by_width.items():
        size = ricci_map(weights(run, run.spec.epochs), x)
        said.append(f"{100 * float((size < 0).double().mean()):.0f}% negative at width {width}")
    return "Share of the square where the curvature is negative: " + ", ".join(said) + "."


def course_sentence(arms) -> str:
    """The mean contrast with true labels before training, at its largest, and in the end."""
    said = []
    for arm in arms:
        found = through_training(arm.runs)
        for width in (w for w in arm.study.widths if len(arm.of(w))):
            mean = found.loc[width, "true"].loc[arm.of(width).index].mean()
            top = f"{mean.max():.2f} at epoch {mean.idxmax():,}"
            said.append(
                f"{arm.name}, width {width}: {mean.iloc[0]:.2f}, at most {top}, in the end {mean.iloc[-1]:.2f}"
            )
    return "Mean contrast in nats: " + "; ".join(said) + "."


def lines_sentence(run) -> str:
    """By how much the log-volume along the lines rises over the mean of their ends, before and after training."""
    said = []
    for values in run.arrays["line_volume"][[0, -1]].swapaxes(0, 1):
        said.append(" and ".join(f"{v.max() - v[[0, -1]].mean():.1f}" for v in values))
    return "The log-volume rises over its ends by so many nats before and after training: " + "; ".join(said) + "."


def plane_sentence(run) -> str:
    """By how much the log-volume within the triangle of three images exceeds its corners', before and after."""
    points = run.arrays["plane_volume"].shape[1]
    inside = geometry.plane(*torch.eye(3, dtype=torch.float64), points).ternary.numpy()
    volume, corners = (run.arrays[name][[0, -1]] for name in ("plane_volume", "corner_volume"))
    before, after = volume[:, inside].mean(1) - corners[:, :3].mean(1)
    return (
        f"Mean log-volume within the triangle over that of its corners: {before:+.1f} before and {after:+.1f} after "
        "training."
    )


def layers(arm) -> pd.DataFrame:
    """A row a hidden layer of deep networks: contrast and place of the peak, as mean and interval over networks."""
    width = arm.study.widths[0]
    kinds = {labels: [arm.runs[width, labels, seed] for seed in arm.of(width, labels).index] for labels in LABELS}
    rows = []
    for layer in range(arm.study.layers):

        def of(name, labels="true", index=-1, layer=layer):
            return [run.arrays[f"layer_{name}"][index, layer] for run in kinds[labels]]

        rows.append(
            [layer + 1, interval(of("contrast")), interval(of("contrast", index=0)),
             interval(of("contrast", "shuffled")), interval(of("nearer"), 3), interval(of("correlation")),
             len(kinds["true"])]
        )  # fmt: skip
    columns = ["layer", *CONTRASTS, "nearer", "correlation", "n"]
    return pd.DataFrame(rows, columns=columns).set_index("layer")


def spectrum_sentence(runs, epochs, within: float = 100.0) -> str:
    """How many singular values are within a factor of the largest, and the smallest, by epoch; means over networks
    and images, of the smallest the geometric one."""
    said = []
    for epoch in epochs:
        s = np.concatenate([run.arrays["spectrum"][at(run, epoch)] for run in runs])
        near = (s * within >= s[:, :1]).sum(1).mean()
        said.append(f"{near:.0f} at epoch {epoch:,}, the smallest {np.exp(np.log(s[:, -1]).mean()):.1g}")
    counted = f"Of {s.shape[1]} singular values so many are within a factor of {within:g} of the largest"
    return f"{counted}: {'; '.join(said)}."


def widths(arm) -> pd.DataFrame:
    """A row a width: what the rules judge, as mean and interval over networks, and how well these classify."""
    rows = []
    for width in arm.study.widths:
        found, shuffled = arm.of(width), arm.of(width, "shuffled")
        contrasts = (found["contrast"], found["before_contrast"], shuffled["contrast"])
        told = map(interval, (found["effect"], found["before_effect"], *contrasts))
        rows.append([width, *told, found["test_accuracy"].mean(), len(found), len(shuffled)])
    columns = ["width", "effect", "effect, step 0", *CONTRASTS, "test accuracy (%)", "n", "n, shuffled"]
    return pd.DataFrame(rows, columns=columns).set_index("width").round(1)


def accuracies(arms, epochs=(1, 5, 10, 20, 30, 50, 100, 200)) -> pd.DataFrame:
    """A row a study of one width and its labels, a column an epoch: mean training and test accuracy in percent."""
    rows = {}
    for arm, labels in itertools.product(arms, LABELS):
        found = arm.networks(labels)
        for side in ("train", "test") if found else ():
            places = {int(s): i for i, s in enumerate(found[0].arrays["steps"]) if s in epochs}
            rows[arm.study.name, labels, side, len(found)] = {
                e: np.mean([r.arrays[f"{side}_accuracy"][i] for r in found]) for e, i in places.items()
            }
    table = pd.DataFrame(rows).T.round(1)
    return table.rename_axis(["study", "labels", "images", "n"]).rename_axis(columns="epoch").fillna("")


def positions(arm) -> pd.DataFrame:
    """A row a width: is the peak nearer to the boundary than to the middle, and do the two move together?"""
    rows = []
    for width in arm.study.widths:
        found, shuffled = arm.of(width), arm.of(width, "shuffled")
        rows.append(
            [width, *(interval(x, 3) for x in (found["nearer"], found["before_nearer"], shuffled["nearer"])),
             interval(found["correlation"]), interval(found["before_correlation"]), len(found)]
        )  # fmt: skip
    columns = ["width", "nearer", "nearer, step 0", "nearer, shuffled", "correlation", "correlation, step 0", "n"]
    return pd.DataFrame(rows, columns=columns).set_index("width")


def first_epoch(arms, points: int = 40) -> pd.DataFrame:
    """How much the first epoch changes the map of the log-volume: root mean square over the square, in nats and as a
    share of the map's own SD at step 0; means over networks."""
    x, rows = grid(points), []
    for arm in arms:
        for width in arm.study.widths:
            runs = [run for run in arm.networks() if run.spec.width == width]
            zero, one = ([log_volume(weights(r, epoch), x) for r in runs] for epoch in (0, 1))
            change = np.array([float((b - a).square().mean().sqrt()) for a, b in zip(zero, one, strict=True)])
            spread = np.array([float(a.std()) for a in zero])
            rows.append([arm.name, width, change.mean(), 100 * (change / spread).mean(), len(runs)])
    columns = ["task", "width", "change (nats)", "change (% of the map's SD)", "n"]
    return pd.DataFrame(rows, columns=columns).set_index(["task", "width"]).round(3)
