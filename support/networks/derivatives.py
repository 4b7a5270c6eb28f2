"""Whether the derivatives of a model, as torch takes them, are those of the model.

They are not where it detaches or rounds something. So they are summed along short segments between inputs, and
compared with how much the model changes there.
"""

from collections.abc import Callable
from contextlib import suppress

from torch import Tensor

from support.geometry.jacobians import NoDerivative, missed
from support.networks.network import Network

SEGMENTS, STEP = 4, 0.1  # from an input towards the next one; their share of the way to it
PARTS = 4, 64  # of such a segment, at first, and where a share of the change above MISSED is missing with so few
MISSED = 0.1


class Misled(ValueError):
    """The derivatives of a map, as torch takes them, are not those of the map."""


def trust(network: Network, name: str, f: Callable[[Tensor], Tensor], forward: bool) -> None:
    """Raises Misled where the derivatives that torch takes of the features f are not those of f.

    forward: of `products`, else in reverse mode, which misses more. Jumps near few of the inputs are not seen. What
    the model itself raises between its inputs is raised.
    """
    if (share := share_missed(network, f, False)) and (not forward or (share := share_missed(network, f, True))):
        cause = "is a step detached, under torch.no_grad() or .data, rounded, or so steep that it jumps?"
        raise Misled(f"torch's derivatives miss {share:.0%} of how the {name} change between inputs: {cause}")


def share_missed(network: Network, f: Callable[[Tensor], Tensor], forward: bool) -> float:
    """The median share of the changes of f that its derivatives miss, if it is gross, else 0.

    0 as well where torch has no such derivatives: then what is measured by them says so.
    """
    if forward not in network.missed:
        x = network.x[: SEGMENTS + 1]
        way, gross = STEP * x.diff(dim=0), 0.0
        with suppress(NoDerivative):
            for parts in PARTS:
                shares = missed(f, x[:-1] + way / 2, way, parts, network.batch, forward)
                if not (share := float(shares.nanmedian())) > MISSED:
                    break
            else:
                gross = share
        network.missed[forward] = gross
    return network.missed[forward]
