"""Adam (Kingma and Ba 2015, algorithm 1), in place, on tensors that each hold a parameter of many networks."""

from dataclasses import dataclass

from torch import Tensor


@dataclass(frozen=True)
class Adam:
    """The constants of Adam, and its step. A parameter, its gradient and both averages have the same shape.

    betas: decay of the average gradient and of the average square. epsilon: added to the root.
    shares: weights of a new gradient and of its square in the averages; by default 1 - beta.

    `step` and `direction` are the same formula with different rounding. Recorded runs used each, so both stay.
    `step` rounds like torch.optim.Adam and takes one rate. `direction` serves networks with different rates.
    """

    betas: tuple[float, float] = (0.9, 0.999)
    epsilon: float = 1e-8
    shares: tuple[float, float] | None = None

    def average(self, gradient: Tensor, mean: Tensor, square: Tensor) -> None:
        """Updates the running averages by a gradient, in place."""
        first, second = self.shares or (1 - self.betas[0], 1 - self.betas[1])
        mean.lerp_(gradient, first)
        square.mul_(self.betas[1]).addcmul_(gradient, gradient, value=second)

    def step(
        self, parameter: Tensor, gradient: Tensor, mean: Tensor, square: Tensor, number: int, rate: float
    ) -> None:
        """Takes step `number` (the first is 1) of a parameter, in place."""
        self.average(gradient, mean, square)
        root = square.sqrt().div_((1 - self.betas[1] ** number) ** 0.5).add_(self.epsilon)
        parameter.addcdiv_(mean, root, value=-rate / (1 - self.betas[0] ** number))

    def direction(self, gradient: Tensor, mean: Tensor, square: Tensor, number: int) -> Tensor:
        """What step `number` (the first is 1) subtracts from a parameter, divided by the rate."""
        self.average(gradient, mean, square)
        root = (square / (1 - self.betas[1] ** number)).sqrt_().add_(self.epsilon)
        return mean / (1 - self.betas[0] ** number) / root
