"""What the report of `support.diagnose` costs: `python -m book bench diagnosis`.

Of a resnet18 of torchvision with random weights, 100 images of 3 x 224 x 224 in ten classes. The report is made in a
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


def measure(device: torch.device, precision: str, quick: bool) -> dict:
    """Seconds, of the wall clock and of all processors, peak memory, and the parts; always on the CPU."""
    sizes = QUICK if quick else Sizes()
    say(f"report on a resnet18, {sizes.images} images of {sizes.pixels} pixels")
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        return pool.submit(report, sizes).result()


def report(sizes: Sizes) -> dict:
    from support import diagnose

    torch.manual_seed(0)
    model = import_torchvision().models.resnet18(num_classes=sizes.classes)
    x = torch.rand(sizes.images, 3, sizes.pixels, sizes.pixels)
    wall, processors = time.perf_counter(), time.process_time()
    found = diagnose(model, x, torch.arange(sizes.images) % sizes.classes, rate=0.1)
    return {
        "network": "resnet18",
        "images": [sizes.images, 3, sizes.pixels, sizes.pixels],
        "seconds": time.perf_counter() - wall,
        "processor_seconds": time.process_time() - processors,
        "peak_memory_bytes": 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss,
        "parts": list(found.parts),
        "missing": found.missing,
    }
