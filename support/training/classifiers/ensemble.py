"""Many networks as one stack of parameters, with hand-written gradients.

Layout. All networks share the inputs, which stay bytes: an operand P of shape (N, K), with a row for each image and a
column for each pixel that varies in the data set, in the order of `stack`. The input of network m is x = gain * byte
+ offset in all D pixels. A `Group` holds G networks of one architecture with H hidden units and C outputs:

    weight       (K, G*H)   first layer, times the gain, so that P needs no scaling
    bias         (G*H,)     first layer
    head         (G, C, H)  second Linear; or mu and alpha, each (G, C, H), of OffsetL2
    head_bias    (G, C)     zero and never updated if the architecture has none

Hidden activations are (G, n, H). Everything after the head is (G, C, n), because a softmax over the second-last axis
is many times faster than one over a last axis of 10.

The offset and the D - K constant pixels add one number to the bias of each hidden unit:
`effective_bias` = bias + offset * (sum of the unit's weights over all D pixels). The gradient for
a constant pixel is offset times that of the bias, so `Group.network` recovers its weights from the bias. With raw
bytes the offset is 0 and none of this is needed.
"""

import torch
from torch import Tensor

from support.activations import ACTIVATIONS
from support.networks.architectures import architecture
from support.networks.data import Dataset
from support.networks.draws import initial
from support.networks.layers import OffsetL2
from support.training.adam import Adam
from support.training.classifiers.specs import RunSpec

ADAM = Adam()


def initial_weights(seed: int, inputs: int, hidden: int, classes: int) -> dict[str, Tensor]:
    """Initial weights of one network, float32, from torch's default distribution and this seed.

    "weight" (hidden, inputs) and "bias" (hidden,) of the first Linear; "head" (classes, hidden) and "head_bias"
    (classes,) of the second; "mu" (classes, hidden) ~ N(0, 0.1^2) of OffsetL2, whose alpha starts at 1.
    """

    def drawn(distribution, role, shape):
        return distribution(shape, generator=initial(seed, role, shape), dtype=torch.float32, device="cpu")

    def uniform(role, shape, fan_in):
        return (2 * drawn(torch.rand, role, shape) - 1) / fan_in**0.5

    shape = (classes, hidden)
    return {
        "weight": uniform("first weight", (hidden, inputs), inputs),
        "bias": uniform("first bias", (hidden,), inputs),
        "head": uniform("second weight", shape, hidden),
        "head_bias": uniform("second bias", (classes,), hidden),
        "mu": 0.1 * drawn(torch.randn, "offset mu", shape),
    }


def starting_weights(spec: RunSpec, inputs: int, classes: int) -> dict[str, Tensor]:
    """`initial_weights` of a run, with its scale of the first layer."""
    drawn = initial_weights(spec.seed, inputs, spec.hidden, classes)
    return drawn | {"weight": spec.first_weight_scale * drawn["weight"]}


class Group:
    """Networks of one architecture that are computed together; the module states the layout."""

    def __init__(self, members: list[int], specs: list[RunSpec], data: Dataset, kept: Tensor, **where):
        """The group before its first step.

        members: positions in the stack. specs: the G specifications. kept: indices of the varying pixels, (K,).
        where: dtype and device.
        """
        inputs, classes, a = data.train_images.shape[1], len(data.classes), architecture(specs[0].architecture)
        drawn = [starting_weights(s, inputs, classes) for s in specs]
        affine = [data.affine(s.scaling) for s in specs]

        def put(values):
            return torch.as_tensor(values, **where)

        def stacked(name):
            return put(torch.stack([d[name] for d in drawn]))

        self.architecture, self.members = a, members
        self.size, self.hidden = len(members), specs[0].hidden
        self.gain, self.offset = (put(values) for values in zip(*affine, strict=True))  # (G,)
        self.rate = put([s.rate for s in specs])  # (G,)
        self.first_weight_rate = put([s.first_weight_rate or s.rate for s in specs])  # (G,)
        self.constant_pixels = inputs - len(kept)
        self.shifted = any(offset for _, offset in affine)  # a Python value, for which a GPU need not be waited for
        self.adam = specs[0].optimiser == "adam"  # else gradient descent
        full = stacked("weight")  # (G, H, D)
        constant = torch.ones(inputs, dtype=torch.bool, device=full.device)
        constant[kept] = False
        weight = full[:, :, kept] * self.gain[:, None, None]
        bias = stacked("bias")
        self.fixed = {"bias": bias.flatten(), "constant_sum": full[:, :, constant].sum(2).flatten()}
        self.parameters = {
            "weight": weight.permute(2, 0, 1).reshape(len(kept), -1).contiguous(),
            "bias": bias.flatten().clone(),
        }
        if self.adam:  # its steps of the constant pixels cannot be recovered from the bias
            self.parameters["constant"] = torch.zeros_like(self.parameters["bias"])
        if a.head != "linear":
            mu = stacked("mu")
            self.parameters |= {"mu": mu, "alpha": torch.ones_like(mu)}
        else:
            head_bias = stacked("head_bias") if a.output_bias else torch.zeros(len(specs), classes, **where)
            self.parameters |= {"head": stacked("head"), "head_bias": head_bias}
        # Adam's averages of the gradients and of their squares
        averaged = self.parameters if self.adam else {}
        self.averages = {f"{k}{o}": torch.zeros_like(v) for k, v in averaged.items() for o in (1, 2)}

    def zeros(self) -> dict[str, Tensor]:
        """A zero tensor for each parameter that has a gradient."""
        return {name: torch.zeros_like(value) for name, value in self.parameters.items() if name != "constant"}

    def per_unit(self, values: Tensor) -> Tensor:
        """(G,) -> (G*H,): each network's value for each of its hidden units."""
        return values.repeat_interleave(self.hidden)

    def constant_weight_change(self) -> Tensor:
        """(G*H,): how far the weights of constant pixels have moved, which is the same for all of them."""
        if self.adam:
            return self.parameters["constant"]
        moved = self.parameters["bias"] - self.fixed["bias"]
        return self.per_unit(self.offset * self.first_weight_rate / self.rate) * moved

    def effective_bias(self) -> Tensor:
        """(G*H,): the bias plus the contribution of offset and constant pixels."""
        bias = self.parameters["bias"]
        if not self.shifted:
            return bias
        varying = self.parameters["weight"].sum(0) / self.per_unit(self.gain)
        constant = self.fixed["constant_sum"] + self.constant_pixels * self.constant_weight_change()
        return bias + self.per_unit(self.offset) * (varying + constant)

    # -- forward ----------------------------------------------------------------------------------------------

    def head_preactivation(self, h: Tensor, squares: Tensor) -> Tensor:
        """(G, n, H) -> (G, C, n): output of the second Linear, or OffsetL2's squared distance.

        squares: scratch of h's shape, in which OffsetL2 leaves h^2 for `head_backward`.
        """
        p = self.parameters
        if self.architecture.head == "offset_l2":
            torch.mul(h, h, out=squares)
            weight = self.distance_weight()
            weighted = weight * p["mu"]
            v = torch.bmm(weight, squares.transpose(1, 2)).baddbmm_(weighted, h.transpose(1, 2), alpha=-2)
            return v.add_((weighted * p["mu"]).sum(2)[:, :, None])
        v = torch.bmm(p["head"], h.transpose(1, 2))
        return v.add_(p["head_bias"][:, :, None]) if self.architecture.output_bias else v

    def distance_weight(self) -> Tensor:
        """(G, C, H): the factors of the squares in OffsetL2."""
        alpha = self.parameters["alpha"]
        return alpha if self.architecture.form == "code" else alpha**2

    def logits(self, v: Tensor) -> Tensor:
        """(G, C, n) -> (G, C, n): from the head's preactivation to the logits."""
        a = self.architecture
        if a.head == "offset_l2":
            v = v.clamp_min(OffsetL2.FLOOR).sqrt()
        elif a.output is not None:
            v = ACTIVATIONS[a.output].function(v)
        return -v if a.negated else v

    # -- backward ---------------------------------------------------------------------------------------------

    def head_backward(self, h: Tensor, v: Tensor, logits: Tensor, dlogits: Tensor, dh: Tensor) -> dict[str, Tensor]:
        """The gradients of the head's parameters. Writes the gradient for h, (G, n, H), to dh.

        dh comes as `head_preactivation` left it, with the squares of h.
        """
        a, p = self.architecture, self.parameters
        dy = -dlogits if a.negated else dlogits
        if a.head == "offset_l2":
            twice = torch.where(v > OffsetL2.FLOOR, dy / logits.abs(), 0)  # 2 dq, of the squared distance q
            dq_h, dq_hh, dq_1 = (x.div_(2) for x in (twice @ h, twice @ dh, twice.sum(2, keepdim=True)))
            weight, back = self.distance_weight(), twice.transpose(1, 2)
            torch.bmm(back, weight, out=dh).mul_(h).baddbmm_(back, weight * p["mu"], alpha=-1)
            dweight = dq_hh - 2 * p["mu"] * dq_h + p["mu"] ** 2 * dq_1
            return {
                "alpha": dweight if a.form == "code" else 2 * p["alpha"] * dweight,
                "mu": -2 * weight * (dq_h - p["mu"] * dq_1),
            }
        dv = dy if a.output is None else dy * ACTIVATIONS[a.output].slope(v)
        torch.bmm(dv.transpose(1, 2), p["head"], out=dh)
        gradients = {"head": torch.bmm(dv, h)}
        if a.output_bias:
            gradients["head_bias"] = dv.sum(2)
        return gradients

    # -- update -----------------------------------------------------------------------------------------------

    def descend(self, gradients: dict[str, Tensor], factor: float | Tensor) -> None:
        """One step of gradient descent, in place. factor multiplies every rate; it is 1 after the warm-up."""
        p = self.parameters
        rate = factor * self.rate
        # chain rule through the folded scaling: x = gain * byte + offset, and weight holds gain * W
        step = self.per_unit(factor * self.first_weight_rate * self.gain**2)
        p["weight"].addcmul_(gradients["weight"], step, value=-1)
        if self.shifted:
            p["weight"].sub_(step * self.per_unit(self.offset / self.gain) * gradients["bias"])
        p["bias"].sub_(self.per_unit(rate) * gradients["bias"])
        for name in gradients.keys() - {"weight", "bias"}:
            shape = (-1,) + (1,) * (p[name].dim() - 1)
            p[name].sub_(rate.view(shape) * gradients[name])

    def adam_step(self, gradients: dict[str, Tensor], factor: float | Tensor, number: int) -> None:
        """Step `number` (the first is 1) of Adam, in place, on the unscaled weights of the networks.

        Adam's step is not linear in the gradient. So the folded scaling is undone before and applied after it, and
        the constant pixels need their own averages.
        """
        gain, offset = self.per_unit(self.gain), self.per_unit(self.offset)
        shift = offset * gradients["bias"]
        for name, gradient in (gradients | {"constant": shift}).items():
            rate = factor * (self.first_weight_rate if name in ("weight", "constant") else self.rate)
            if name in ("weight", "bias", "constant"):
                rate = self.per_unit(rate)
            else:
                rate = rate.view((-1,) + (1,) * (gradient.dim() - 1))
            own = gain * gradient + shift if name == "weight" else gradient
            step = ADAM.direction(own, self.averages[f"{name}1"], self.averages[f"{name}2"], number) * rate
            self.parameters[name].sub_(gain * step if name == "weight" else step)

    # -- looking inside ---------------------------------------------------------------------------------------

    def network(self, position: int, kept: Tensor, start: dict[str, Tensor]) -> dict[str, Tensor]:
        """The weights of one of the group's networks in the layout of `initial_weights`.

        start: the network's initial weights, which supply those that never changed.
        """
        p, H = self.parameters, self.hidden
        units = slice(position * H, (position + 1) * H)
        weight = start["weight"].to(p["weight"]) + self.constant_weight_change()[units, None]
        weight[:, kept] = (p["weight"][:, units] / self.gain[position]).T
        named = {"weight": weight, "bias": p["bias"][units]}
        for name in p.keys() - {"weight", "bias", "constant"}:
            named[name] = p[name][position]
        return {name: value.contiguous().cpu() for name, value in named.items()}
