"""What the report of `support.diagnose` costs: `python -m book bench diagnosis`.

Of networks of torchvision with random weights, 100 images of 3 x 224 x 224 in ten classes. Each report is made in a
process of its own, and the peak is that of the whole process, libraries and images included.
"""

import multiprocessing
import resource
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass

import torch

from benchmarks.train import say
from support.networks.data import import_torchvision


@dataclass(frozen=True)
class Sizes:
    images: int = 100
    pixels: int = 224
    classes: int = 10


QUICK = Sizes(images=20, pixels=64, classes=2)
NETWORKS = {
    "resnet18": lambda models, sizes: models.resnet18(num_classes=sizes.classes),
    "mobilenet_v3_small": lambda models, sizes: models.mobilenet_v3_small(num_classes=sizes.classes),
    "vit_tiny": lambda models, sizes: models.VisionTransformer(
        sizes.pixels,
        patch_size=16,
        num_layers=12,
        num_heads=3,
        hidden_dim=192,
        mlp_dim=768,
        num_classes=sizes.classes,
    ),
}


def measure(device: torch.device, precision: str, quick: bool) -> dict:
    """Of each network: seconds of the wall clock and of all processors, peak memory, parts; always on the CPU."""
    sizes, found = QUICK if quick else Sizes(), {}
    for name in NETWORKS:
        say(f"report on {name}, {sizes.images} images of {sizes.pixels} pixels")
        with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
            found[name] = pool.submit(report, name, sizes).result()
    return {"images": [sizes.images, 3, sizes.pixels, sizes.pixels], "networks": found}


def report(name: str, sizes: Sizes) -> dict:
    from support import diagnose

    torch.manual_seed(0)
    model = NETWORKS[name](import_torchvision().models, sizes)
    head = [part for part in model.modules() if isinstance(part, torch.nn.Linear)][-1]
    torch.nn.init.normal_(head.weight)  # that of a ViT starts at 0, and then its outputs do not vary
    x = torch.rand(sizes.images, 3, sizes.pixels, sizes.pixels)
    wall, processors = time.perf_counter(), time.process_time()
    found = diagnose(model, x, torch.arange(sizes.images) % sizes.classes, rate=0.1)
    return {
        "seconds": time.perf_counter() - wall,
        "processor_seconds": time.process_time() - processors,
        "peak_memory_bytes": 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss,
        "parts": list(found.parts),
        "missing": found.missing,
    }
