"""The parameters of the chapter, the sizes of each scale, and the study that follows."""

from dataclasses import dataclass

from book.chapters.settings import TrainedHere
from book.measures.residual.study import ResidualStudy, of_small_images
from support.networks.data import load

NARROW = 4  # channels of the first stage for small images


@dataclass(frozen=True)
class Settings(TrainedHere):
    """Parameters of the chapter.

    They are those of the encoders that the chapter trains. CIFAR-10 takes hours, and is not trained here.
    """

    presets = {"data": "digits", "width": NARROW, "seeds": (2, 2, 5), "epochs": (1, 3, 30)}

    def images(self) -> ResidualStudy:
        """Encoders of these images with both objectives, and the same networks trained with labels."""
        return of_small_images(
            10,
            load(self.data, self.data_folder),
            self.scale,
            steps=self.epochs,
            seeds=self.seeds,
            width=self.width,
            objectives=("barlow", "simclr", "supervised"),
            batch=100,
            optimiser="adam",
            rate=2e-3,
            decay=1e-6,
            augmentation="views",
            pairs=5,
            points=3,
        )
