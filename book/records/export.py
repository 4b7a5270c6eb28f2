"""All runs as one table, with the meaning of each column."""

from collections.abc import Iterable
from pathlib import Path

import pandas as pd

from book.records.files import atomically
from book.records.store import Record

COLUMNS = {  # name -> unit or type, meaning
    "experiment": (
        "text",
        "kind of run: classifier (also metric and centres, with more measurements), mahalanobis, volume, residual",
    ),
    "data": ("text", "name of the data"),
    "key": ("text", "16 hex digits of the sha256 of the specification"),
    "steps": ("count", "length of the run: gradient steps, or epochs of a volume or residual run"),
    "data_digest": ("text", "first 16 hex digits of the sha256 of the data"),
    "seed": ("count", "seed of the initial weights, and of what else is drawn"),
    "architecture": ("text", "classifier: name of the network"),
    "network": ("text", "mahalanobis: name of the network"),
    "images": ("count", "classifier, residual: training images, from the first"),
    "samples": ("count", "mahalanobis: training points"),
    "scaling": ("text", "classifier: of the inputs, raw, unit or standardised"),
    "rate": ("number", "learning rate"),
    "first_weight_rate": ("number", "learning rate of the weights of the first layer, where it differs"),
    "warmup": ("steps", "steps over which the rate rises linearly"),
    "hidden": ("count", "classifier: hidden units"),
    "width": ("count", "volume: units of every hidden layer; residual: channels of the first stage"),
    "depth": ("count", "residual: layers, as in ResNet-34"),
    "activation": ("text", "residual: in every place"),
    "objective": ("text", "residual: supervised, barlow (Barlow Twins) or simclr"),
    "augmentation": ("text", "residual: of the training images"),
    "schedule": ("text", "residual: of the learning rate"),
    "until": ("percent", "residual: training stops when this percentage of the training labels is learned; 0: never"),
    "temperature": ("number", "residual: of SimCLR"),
    "redundancy": ("number", "residual: weight of the off-diagonal terms of Barlow Twins"),
    "layers": ("count", "volume: hidden layers"),
    "epochs": ("count", "volume, residual: length of the run"),
    "initialisation": ("text", "classifier: how the weights are drawn"),
    "first_weight_scale": ("number", "classifier: factor of the initial weights of the first layer"),
    "labels": ("text", "true, or shuffled for a control"),
    "optimiser": ("text", "sgd or adam"),
    "batch": ("count or text", "images or points in a batch, or full"),
    "momentum": ("number", "volume, residual: of stochastic gradient descent"),
    "decay": ("number", "volume, residual: weight decay"),
    "beta1": ("number", "mahalanobis: of Adam"),
    "beta2": ("number", "mahalanobis: of Adam"),
    "epsilon": ("number", "mahalanobis: of Adam"),
    "precision": ("text", "of the matrix products; residual: of training, fp32 or bf16"),
    "components": ("count", "metric: principal directions of the images in which metrics are compared"),
    "logit_components": ("count", "metric: the same for the volume of the logits"),
    "matched": ("text", "volume: in what the two segments of a pair agree, length, or length and ink"),
    "pairs": ("count", "pairs of points in a measurement at the boundary"),
    "points": ("count", "points on the segment of each pair"),
    "line": ("count", "residual: points on each of three lines between images; 0 for none"),
    "triples": ("count", "residual: triangles between images of three classes, and as many of one class"),
    "raw": (
        "true or false",
        "residual: whether the volume element is also measured on images that are not normalised",
    ),
    "normalised": ("true or false", "residual: whether images are normalised, in training and where it is measured"),
    "plane": ("count", "volume, residual: points a side of the plane of images; 0 for none"),
    "planes": ("count", "residual: points a side of each of four more planes of images; 0 for none"),
    "diverged_at": ("step", "first recorded step with a loss that is not finite; empty if there is none"),
    "final_train_loss": ("nats", "mean cross-entropy on the training data at the last step"),
    "final_train_accuracy": ("percent", "training data classified correctly at the last step"),
    "final_test_loss": ("nats", "mean cross-entropy on the test data at the last step"),
    "final_test_accuracy": ("percent", "test data classified correctly at the last step"),
    "final_train_dead": ("outputs", "outputs active on no training image"),
    "final_train_rare": ("outputs", "outputs active on some training images, but under 1%"),
    "final_train_scarce": ("outputs", "outputs active on at least 1% of the training images, but under 5%"),
    "final_test_dead": ("outputs", "outputs active on no test image"),
    "final_test_rare": ("outputs", "outputs active on some test images, but under 1%"),
    "final_test_scarce": ("outputs", "outputs active on at least 1% of the test images, but under 5%"),
    "final_contrast": ("nats", "rise of the log-volume at the boundary over that of pairs of one class"),
    "final_objective": ("number", "residual: mean objective of self-supervision in the last epoch"),
    "final_probe_train_accuracy": (
        "percent",
        "training images that a linear probe of the features classifies correctly",
    ),
    "final_probe_test_accuracy": ("percent", "the same of test images"),
    "final_probe_raw_accuracy": ("percent", "the same of test images without normalisation"),
    "final_untrained_probe_test_accuracy": ("percent", "test images, by a probe of the encoder before training"),
    "final_train_mse": ("squared distance", "mean squared error on the training points at the last step"),
    "final_validation_mse": ("squared distance", "mean squared error on the validation points at the last step"),
    "final_test_mse": ("squared distance", "mean squared error on the test points at the last step"),
    "weights_kept": ("true or false", "whether the record holds the final weights"),
    "seconds": ("seconds", "training time, the share of this run in its block"),
    "date": ("text", "when the run ended, ISO 8601"),
    "commit": ("text", "commit of the code that ran"),
    "processor": ("text", "of the machine that ran it"),
    "gpu": ("text", "of the machine that ran it; empty if there was none"),
    "torch": ("text", "version"),
}
ENVIRONMENT = ("seconds", "date", "commit", "processor", "gpu", "torch")


def table(records: Iterable[Record]) -> pd.DataFrame:
    """One row for each run. The columns are those of `COLUMNS` that some run has, in that order."""
    frame = pd.DataFrame([_row(record) for record in records])
    if unknown := set(frame.columns) - set(COLUMNS):
        raise ValueError(f"the columns {sorted(unknown)} are not explained in export.COLUMNS")
    frame = frame[[name for name in COLUMNS if name in frame.columns]]
    whole = [name for name in frame if COLUMNS[name][0] in ("count", "outputs", "steps", "step")]
    return frame.astype(dict.fromkeys(whole, "Int64"))  # keeps whole numbers whole where some runs have none


def _row(record: Record) -> dict:
    content = record.content
    final = {f"final_{name}": value for name, value in content["final"].items()}
    environment = {name: content["environment"].get(name) for name in ENVIRONMENT}
    own = {name: content[name] for name in ("key", "steps", "diverged_at", "weights_kept")}
    return content["spec"] | own | final | environment


def export(records: Iterable[Record], path: Path | str) -> int:
    """Writes the table as CSV and returns the number of runs.

    For runs.csv, the file runs.columns.csv explains the columns: name, unit, meaning.
    """
    path, frame = Path(path), table(records)
    meanings = pd.DataFrame([(name, *COLUMNS[name]) for name in frame.columns], columns=["column", "unit", "meaning"])
    atomically(path, frame.to_csv(index=False))
    atomically(path.with_suffix(".columns.csv"), meanings.to_csv(index=False))
    return len(frame)
