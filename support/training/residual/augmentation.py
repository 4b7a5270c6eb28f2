"""Random changes of images. Every random number comes from a CPU generator, so that all devices see the same images.

Images are (N, channels, H, W) in the unit range.
"""

import torch
from torch import Tensor
from torch.nn import functional

PAD = 4  # pixels around an image before it is cropped
AREA, RATIO = (0.08, 1.0), (3 / 4, 4 / 3)  # of a resized crop: share of the image, and width over height
JITTER, JITTERED, GREY = (0.4, 0.4, 0.2, 0.1), 0.8, 0.2  # brightness, contrast, saturation, hue; probabilities
WEIGHTS = (0.299, 0.587, 0.114)  # of red, green and blue in grey


def crop_and_flip(x: Tensor, random: torch.Generator) -> Tensor:
    """Each image, (N, C, H, W), shifted by up to PAD pixels, and mirrored with probability 1/2."""
    N, W = len(x), x.shape[-1]
    shift = torch.randint(2 * PAD + 1, (2, N), generator=random).to(x.device)
    mirrored = (torch.rand(N, generator=random) < 0.5).to(x.device)
    columns = torch.arange(W, device=x.device).expand(N, W)
    return _cropped(x, PAD, shift, torch.where(mirrored[:, None], W - 1 - columns, columns))


def shifted(x: Tensor, random: torch.Generator) -> Tensor:
    """Each image, (N, C, H, W), shifted by up to an eighth of its width, as `crop_and_flip` does with CIFAR-10."""
    N, W = len(x), x.shape[-1]
    shift = torch.randint(2 * (W // 8) + 1, (2, N), generator=random).to(x.device)
    return _cropped(x, W // 8, shift, torch.arange(W, device=x.device).expand(N, W))


def _cropped(x: Tensor, pad: int, shift: Tensor, columns: Tensor) -> Tensor:
    """Crops of images with `pad` zeros around them. shift: of rows and columns, (2, N). columns: in order, (N, W)."""
    rows = shift[0, :, None] + torch.arange(x.shape[2], device=x.device)
    columns = shift[1, :, None] + columns
    padded = functional.pad(x, (pad,) * 4).permute(0, 2, 3, 1)
    found = padded[torch.arange(len(x), device=x.device)[:, None, None], rows[:, :, None], columns[:, None, :]]
    return found.permute(0, 3, 1, 2)  # channels last in memory


def view(x: Tensor, random: torch.Generator) -> Tensor:
    """A view of each image for self-supervision: a resized crop, mirrored or not, with other colours.

    Source: Zavatone-Veth et al. 2025, appendix I.4, after Zbontar et al. 2021, without blur and solarisation. Colours
    change in the order brightness, contrast, saturation, hue.
    """
    x = _resized_crop(x, random)
    return _coloured(x, random) if x.shape[1] == 3 else x


def _resized_crop(x, random):
    N = len(x)
    uniform = torch.rand(5, N, generator=random)
    area = AREA[0] + (AREA[1] - AREA[0]) * uniform[0]
    ratio = RATIO[0] * (RATIO[1] / RATIO[0]) ** uniform[1]
    size = torch.stack([(area * ratio).sqrt(), (area / ratio).sqrt()]).clamp(max=1.0)  # of the image's width, height
    centre = (2 * uniform[2:4] - 1) * (1 - size)
    sign = torch.where(uniform[4] < 0.5, -1.0, 1.0)
    theta = torch.zeros(N, 2, 3)
    theta[:, 0, 0], theta[:, 1, 1] = sign * size[0], size[1]
    theta[:, 0, 2], theta[:, 1, 2] = centre
    grid = functional.affine_grid(theta, list(x.shape), align_corners=False).to(x.device)
    found = functional.grid_sample(x, grid, mode="bilinear", padding_mode="reflection", align_corners=False)
    return found.contiguous(memory_format=torch.channels_last)


def _coloured(x, random):
    N = len(x)
    factors = 2 * torch.rand(4, N, generator=random) - 1
    chosen = torch.rand(2, N, generator=random)
    on = (chosen[0] < JITTERED).float()
    brightness, contrast, saturation, hue = (
        (size * on * factor).to(x.device)[:, None, None, None] for size, factor in zip(JITTER, factors, strict=True)
    )
    x = (x * (1 + brightness)).clamp(0, 1)
    x = torch.lerp(_grey(x).mean((2, 3), keepdim=True).expand_as(x), x, 1 + contrast).clamp(0, 1)
    x = torch.lerp(_grey(x).expand_as(x), x, 1 + saturation).clamp(0, 1)
    x = _turned(x, hue[:, 0])
    grey = (chosen[1] < GREY).to(x.device)[:, None, None, None]
    return torch.where(grey, _grey(x), x)


def _grey(x):
    return (x * x.new_tensor(WEIGHTS)[:, None, None]).sum(1, keepdim=True)


def _turned(x, turns):
    """Colours with their hue turned by (N, 1, 1) shares of the circle; value and saturation of HSV stay."""
    high, low = x.amax(1), x.amin(1)
    spread = (high - low).clamp(min=1e-8)
    red, green, blue = x.unbind(1)
    sector = torch.where(
        high == red,
        (green - blue) / spread,
        torch.where(high == green, 2 + (blue - red) / spread, 4 + (red - green) / spread),
    )
    hue = sector + 6 * turns
    offsets = x.new_tensor([5.0, 3.0, 1.0])[:, None, None]
    k = (offsets + hue[:, None]) % 6
    return high[:, None] - (high - low)[:, None] * torch.minimum(k, 4 - k).clamp(0, 1)
