"""A variational autoencoder of images (Kingma and Welling 2014): it draws new images, also between two given ones."""

from torch import Tensor, nn


class Autoencoder(nn.Module):
    """Images to a few latent numbers and back, with one hidden layer each way.

    Layout: images are rows, (N, pixels), of intensities between 0 and 1; latent points are rows, (N, latent). The
    encoder gives each image a Gaussian of latent points, and the decoder gives each latent point an image.
    """

    def __init__(self, pixels: int, hidden: int = 400, latent: int = 16):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(pixels, hidden), nn.ReLU(), nn.Linear(hidden, 2 * latent))
        self.decoder = nn.Sequential(nn.Linear(latent, hidden), nn.ReLU(), nn.Linear(hidden, pixels))

    def encode(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """The mean and the log-variance of the latent Gaussians of images, (N, latent) each."""
        mean, log_variance = self.encoder(x).chunk(2, dim=1)
        return mean, log_variance

    def decode(self, z: Tensor) -> Tensor:
        """The images, (N, pixels), of latent points."""
        return self.decoder(z).sigmoid()

    def loss(self, x: Tensor, noise: Tensor) -> Tensor:
        """The negative evidence bound of images, in nats an image.

        It is the cross-entropy of the pixels plus the divergence of the latent Gaussians from N(0, 1). That is a
        bound for pixels of 0 and 1; for grey ones it is the usual cross-entropy.

        x: (N, pixels), from 0 to 1. noise: (N, latent), drawn from N(0, 1). Raises ValueError for other intensities,
        such as bytes, for which the cross-entropy has no lower bound, and for noise of another shape.
        """
        if not ((x >= 0) & (x <= 1)).all():
            raise ValueError(f"intensities must be from 0 to 1, got {float(x.min()):g} to {float(x.max()):g}")
        mean, log_variance = self.encode(x)
        if noise.shape != mean.shape:  # it could broadcast
            raise ValueError(f"noise must have shape {tuple(mean.shape)}, got {tuple(noise.shape)}")
        logits = self.decoder(mean + noise * (log_variance / 2).exp())
        pixels = nn.functional.binary_cross_entropy_with_logits(logits, x, reduction="sum")
        divergence = (mean.square() + log_variance.exp() - 1 - log_variance).sum() / 2
        return (pixels + divergence) / len(x)
