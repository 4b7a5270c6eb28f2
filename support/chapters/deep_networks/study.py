"""The studies of the chapter: depth, activation and shuffled labels.

Networks are trained in float32, which takes a processor with bf16 in hardware 1.4 times as long as bf16. One without
it must emulate bf16, and then takes 25 times as long. The first five networks of `deep-resnet10` were trained in bf16
before float32 was chosen; the choice was made before any other network was trained. With it the length of
`deep-resnet34` and of chapter 9's encoders fell from 30 to 20 epochs, to stay within the same hours.
"""

from support.evidence.residual.study import ResidualStudy

CIFAR = "folder:cifar10-jpeg"

STUDIES = {
    study.name: study
    for study in (
        ResidualStudy("deep-resnet34", "ResNet-34 of width 16 with GELU, CIFAR-10 (JPEG copy), 20 epochs", CIFAR, 20,
                      depth=34),
        ResidualStudy("deep-resnet10", "ResNet-10 of width 16 with GELU and with a true ReLU, CIFAR-10 (JPEG copy), "
                      "20 epochs", CIFAR, 20, activations=("gelu", "relu"), seeds=10, in_bf16=5),
        # the true labels are learned in the same way: without augmentation or decay, until 90% of them are
        ResidualStudy("deep-resnet10-shuffled", "ResNet-10 of width 16 on 5,000 images of CIFAR-10 (JPEG copy), true "
                      "and shuffled labels, until 90% of them are learned", CIFAR, 200, labels=("true", "shuffled"),
                      images=5000, batch=100, rate=0.05, decay=0.0, augmentation="none", until=90.0),
    )
}  # fmt: skip
