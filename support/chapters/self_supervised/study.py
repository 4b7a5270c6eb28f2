"""The study of the chapter: two objectives with the same encoder, data, views, batch and length."""

from support.evidence.residual.study import ResidualStudy

STUDIES = {
    study.name: study
    for study in (
        ResidualStudy("self-supervised", "Barlow Twins and SimCLR, ResNet-10 of width 16 on CIFAR-10 (JPEG copy), "
                      "30 epochs", "folder:cifar10-jpeg", 30, objectives=("barlow", "simclr"), batch=256,
                      optimiser="adam", rate=2e-3, decay=1e-6, augmentation="views"),
    )
}  # fmt: skip
