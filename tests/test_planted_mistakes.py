"""The agreement with the autograd loop is worth something: it breaks for each of these mistakes, planted one by one.

A mistake is a change of a few characters in the source of one function, so the table reads like a patch. If the
source is rewritten, the text is no longer found, and the test asks for a new one.
"""

from dataclasses import replace

import pytest
from agreement import TOLERANCE, disagreement, four, plant, tiny

from support.activations import Activation
from support.training.adam import Adam
from support.training.classifiers import ensemble
from support.training.classifiers.ensemble import Group
from support.training.classifiers.stack import Stack

ADAM, CENTRED = {"optimiser": "adam"}, {"initialisation": "centred-head"}

# what is wrong: (where, function, right text, wrong text, architecture, scaling[, what else the runs ask for])
MISTAKES = {
    "sign of Neg, backward": (Group, "head_backward", "-dlogits if", "dlogits if", "ReLU2-Neg", "unit"),
    "sign of Neg, forward": (Group, "logits", "-v if", "v if", "Abs2-Neg", "unit"),
    "sign of the step": (Group, "descend", "step, value=-1", "step, value=1", "ReLU", "unit"),
    "sign of mu's gradient": (Group, "head_backward", "-2 * weight", "2 * weight", "ReLU-L2", "unit"),
    "slope of alpha squared left out": (
        Group, "head_backward", '2 * p["alpha"] * dweight', "dweight", "ReLU-L2-Paper", "unit"),
    "alpha not squared": (Group, "distance_weight", "else alpha**2", "else alpha", "ReLU-L2-Paper-Neg", "unit"),
    "gain instead of gain squared": (Group, "descend", "self.gain**2", "self.gain", "ReLU", "unit"),
    "no gain in the initial weights": (
        Group, "__init__", "full[:, :, kept] * self.gain[:, None, None]", "full[:, :, kept]", "ReLU", "unit"),
    "offset not divided by gain": (
        Group, "descend", "self.offset / self.gain", "self.offset", "ReLU", "standardised"),
    "constant pixels' start left out": (
        Group, "effective_bias", 'self.fixed["constant_sum"] + ', "", "Abs", "standardised"),
    "constant pixels' change left out": (
        Group, "effective_bias", " + self.constant_pixels * self.constant_weight_change()",
        "", "Abs", "standardised"),
    "constant pixels at the wrong rate": (
        Group, "constant_weight_change", "self.offset * self.first_weight_rate / self.rate",
        "self.offset", "ReLU", "standardised"),
    "rate of the first layer ignored": (
        Group, "descend", "self.first_weight_rate * self.gain", "self.rate * self.gain", "ReLU", "unit"),
    "rate of the first layer's weights for its bias": (
        Group, "descend", "self.per_unit(rate) * gradients",
        "self.per_unit(factor * self.first_weight_rate) * gradients", "ReLU", "unit"),
    "the neighbour's rate": (
        Group, "per_unit", "repeat_interleave(self.hidden)", "repeat(self.hidden)", "ReLU", "unit"),
    "warm-up ignored": (Group, "descend", "rate = factor * self.rate", "rate = self.rate", "ReLU", "unit"),
    "warm-up off by one": (Stack, "step", "(number /", "((number - 1) /", "ReLU", "unit"),
    "head gradient transposed": (
        Group, "head_backward", '{"head": torch.bmm(dv, h)}',
        '{"head": torch.bmm(dv, h).transpose(1, 2)}', "ReLU", "unit"),
    "head transposed, backward": (
        Group, "head_backward", 'torch.bmm(dv.transpose(1, 2), p["head"], out=dh)',
        'torch.bmm(dv.transpose(1, 2), p["head"].transpose(1, 2), out=dh)', "Abs", "unit"),
    "mean over the chunk": (Stack, "compute_gradients", "div_(images)", "div_(h.shape[1])", "ReLU", "unit"),
    "labels of the first chunk": (
        Stack, "compute_gradients", "sub_(chunk.labels)", "sub_(self.train.labels[:, : h.shape[1]])", "ReLU", "unit"),
    "softmax over the images": (
        Stack, "compute_gradients", "torch.softmax(logits, 1)", "torch.softmax(logits, 2)", "ReLU", "unit"),
    "gradients of the last step kept": (Stack, "compute_gradients", "value.zero_()", "pass", "ReLU", "unit"),
    "slope of ReLU on the wrong side": (
        Stack, "compute_gradients", "torch.ops.aten.threshold_backward(dh, z, 0, grad_input=z)",
        "z.copy_(dh * (z <= 0))", "ReLU", "unit"),
    "slope of Abs left out": (Stack, "compute_gradients", "z.sign_().mul_(dh)", "z.copy_(dh)", "Abs", "unit"),
    "slope of the output left out": (
        Group, "head_backward", "dy * ACTIVATIONS[a.output].slope(v)", "dy", "ReLU2", "standardised"),
    "slope of Abs always 1": (
        Activation, "slope", "self.derivative(z)", "torch.ones_like(z)", "Abs2", "standardised"),
    "gradient of the output bias averaged": (Group, "head_backward", "dv.sum(2)", "dv.mean(2)", "ReLU-Bias", "unit"),
    "output bias left out": (
        Group, "head_preactivation", "if self.architecture.output_bias", "if False", "Abs-Bias", "unit"),
    "alpha's gradient without its factor 2": (
        Group, "head_backward", 'dq_hh - 2 * p["mu"]', 'dq_hh - p["mu"]', "Abs-L2", "unit"),
    "root's derivative without its factor 2": (
        Group, "head_backward", "x.div_(2) for x", "x for x", "ReLU-L2", "unit"),
    "OffsetL2 without its root": (Group, "logits", ".sqrt()", "", "ReLU-L2-Neg", "unit"),
    "gradient through OffsetL2 without its factor 2": (
        Group, "head_backward", "dy / logits.abs()", "dy / logits.abs() / 2", "Abs-L2-Neg", "unit"),
    "gradient through OffsetL2 without its square": (
        Group, "head_backward", "out=dh).mul_(h)", "out=dh)", "Abs-L2-Neg", "unit"),
    "another seed's weights at the end": (
        Stack, "weights", "spec = self.specs[m]", "spec = self.specs[0]", "ReLU", "unit"),
    "training images measured for the test set": (
        Stack, "measure", "enumerate((self.train, self.test))",
        "enumerate((self.train, self.train))", "ReLU", "unit"),
    "offset left out of what is measured": (
        Stack, "measure", "group.effective_bias()", 'group.parameters["bias"]', "ReLU", "standardised"),
    # the other optimiser, start and labels
    "Adam: no gain before the average": (
        Group, "adam_step", "own = gain * gradient + shift", "own = gradient + shift", "ReLU", "standardised", ADAM),
    "Adam: no offset": (
        Group, "adam_step", "own = gain * gradient + shift", "own = gain * gradient", "ReLU", "standardised", ADAM),
    "Adam: no gain after it": (
        Group, "adam_step", 'gain * step if name == "weight" else step', "step", "Abs2", "unit", ADAM),
    "Adam: constant pixels stand still": (
        Group, "adam_step", 'gradients | {"constant": shift}', "gradients", "ReLU", "standardised", ADAM),
    "Adam: average not corrected": (
        Adam, "direction", "mean / (1 - self.betas[0] ** number)", "mean", "ReLU2-Neg", "unit", ADAM),
    "Adam: average square not corrected": (
        Adam, "direction", "square / (1 - self.betas[1] ** number)", "square", "ReLU", "unit", ADAM),
    "Adam: betas exchanged": (
        Adam, "average", "first, second = self", "second, first = self", "Abs", "unit", ADAM),
    "Adam: rate of the first layer's weights ignored": (
        Group, "adam_step", "self.first_weight_rate if", "self.rate if", "ReLU", "unit", ADAM),
    "centred head: its bias left out": (
        Stack, "centre_heads", ' + p["head_bias"]', "", "ReLU2-Bias", "unit", CENTRED),
    "centred head: length for its square": (
        Stack, "centre_heads", "(mean**2).sum(1, keepdim=True)", "(mean**2).sum(1, keepdim=True).sqrt()",
        "ReLU2", "unit", CENTRED),
    "centred head: mean of the last chunk": (
        Stack, "centre_heads", "in self.train.chunks", "in self.train.chunks[-1:]", "Abs2", "standardised", CENTRED),
    "first layer's scale left out": (
        ensemble, "starting_weights", "spec.first_weight_scale * ", "", "ReLU", "unit", {"first_weight_scale": 3.0}),
    "shuffled labels not shuffled": (
        Stack, "__init__", "data = data.shuffled()", "pass", "ReLU", "unit", {"labels": "shuffled"}),
}  # fmt: skip


@pytest.mark.parametrize("mistake", MISTAKES)
def test_the_agreement_breaks_for(mistake, monkeypatch):
    owner, name, right, wrong, architecture, scaling, *more = MISTAKES[mistake]
    dataset, changes = tiny(), more[0] if more else {}
    warmups = (0, 0, 0, 0) if changes == ADAM else (0, 4, 0, 12)
    # as many hidden units as classes, so that a transposed index does not fail by its shape alone
    specs = [replace(s, **changes) for s in four(architecture, scaling, dataset, warmups, hidden=4)]
    tolerance = 10 * TOLERANCE if changes == ADAM else TOLERANCE
    assert disagreement(specs, dataset) < tolerance
    plant(monkeypatch, owner, name, right, wrong)
    assert disagreement(specs, dataset, enough=1000 * tolerance) > 1000 * tolerance
