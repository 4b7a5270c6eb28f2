"""Parts of README.md: from the ledger five findings and the table of chapters, and links to the public repository.

Each part stands between two marks. It is written by `claims --write-readme` and compared with the ledger by a test,
never edited in the file.
"""

import tomllib
from pathlib import Path

from book.chapters.deep_networks.derived import TABLE
from book.chapters.mahalanobis.claims import ERROR
from book.chapters.volume_element import results as volume
from book.chapters.volume_element.study import STUDIES
from book.chapters.volume_element.tables import share_at_own_boundaries, share_in_the_middle
from book.claims.ledger import counts, markdown_row
from book.claims.prose import claim, say
from book.claims.statistics import mean_interval
from book.claims.verdicts import VERDICTS
from book.measures.distances import results as distances
from book.measures.distances.study import STUDIES as FRESH
from book.measures.residual.own_boundaries import before_training
from book.records.paths import HERE
from book.records.store import Store

README = HERE / "README.md"


def findings() -> str:
    """Five findings of the book with their numbers; `say` checks that the records support them."""
    share = claim("RG-4-b").arm("MNIST").value / claim("RG-4-a").arm("MNIST").value
    records = list(Store())
    mnist = volume.arm("MNIST", STUDIES["volume-mnist"], records)
    errors = distances.errors(FRESH["mahalanobis-2-fresh"], records)["error"].loc["MD_Abs"]
    learned = errors < ERROR
    return str(
        say(
            """
            - On raw pixels, a ReLU network that must output intensities loses {raw:.0f} points of accuracy. On
              standardised pixels it loses {standardised:.0f}. The difference seems to depend on the size of the
              first steps.
            - Distance outputs find their own class: for {near:.0f}% of them it is the nearest one on raw pixels, and
              for {all:.0f}% on standardised ones. There only {far:.0f}% come within a standard deviation of it.
            - Networks of absolute values learn a Mahalanobis distance in {new:.0%} of {trials} trials in the plane,
              each on a new Gaussian. On one Gaussian for all trials, those that learn it have hyperplanes through
              the mean and whiten the data, as the loss demands.
            - Trained networks magnify space near decision boundaries. On 30 planar points they do so for shuffled
              labels. On MNIST, {before:.0%} of the contrast was there before training at the same places (mid-line
              {middle:.0%}, untrained networks' own boundaries {own:.0%}). In
              a ResNet-34, boundaries fitted to the labels stand out before training, too.
            - A random layer of infinite width has negative curvature, or none, in the paper's examples. For GELU it
              is positive at some distances. By our reading, the authors' code gives {times:.0f}
              times the curvature.
            """,
            raw=claim("LDM-5.2-a").arm("raw"),
            standardised=claim("LDM-5.2-a").arm("standardised"),
            near=claim("LDM-6.1-c").arm("raw"),
            all=claim("LDM-6.1-c").arm("standardised"),
            far=claim("LDM-6.1-a").arm("standardised"),
            new=learned.mean(),
            trials=len(learned),
            middle=share_in_the_middle(mnist, mnist.study.widths[0]),
            own=share_at_own_boundaries(mnist, mnist.study.widths[0]),
            before=0.5 - share,
            times=claim("RG-D-b").arm("formulas"),
            fitted=mean_interval(before_training(TABLE, "deep-resnet34", "probe")["interpolated"]).low,
            relies_on={
                "LDM-5.2-a/raw": "holds",
                "LDM-5.2-a/standardised": "fails",
                "LDM-6.1-c": "holds",
                "near": (85, 100),
                "all": (95, 100),
                "far": (10, 40),
                "MDX-2-a/d = 2": "holds",
                "LDM-6.1-a/standardised": "fails",
                "new": (0.2, 0.4),
                "trials": (200, 200),
                "RG-4-a": "holds",
                "RG-4-c/sinusoid, 30 points": "fails",
                "RG-5.1-a": "holds",
                "OWN-8-h/ResNet-34": "unclear",
                "fitted": (0.02, 0.4),
                "middle": (0.2, 0.4),
                "own": (0.05, 0.35),
                "before": (0.4, 0.7),
                "RG-3-a": "holds",
                "OWN-6-a": "fails",
                "times": (2.9, 3.1),
            },
        )
    )


def chapters(rows: list[dict], titles: dict[str, str]) -> str:
    """The number of claims with each verdict, by chapter, as a GitHub table; titles: chapter -> its title."""
    lines = [markdown_row(["Chapter", *(word.capitalize() for word in VERDICTS)])]
    lines.append("| --- |" + " :-: |" * len(VERDICTS))
    for chapter, title in titles.items():
        found = counts([row for row in rows if row["chapter"] == chapter]).values()
        lines.append(markdown_row([f"[{title}](notebooks/{chapter}.ipynb)", *(str(count or "") for count in found)]))
    return "\n".join(lines)


def links(project: dict) -> str:
    """Where the book runs without an installation; nothing without an address of the repository.

    project: the table of that name of pyproject.toml, whose `urls.Repository` is the address.
    """
    if not (address := project.get("urls", {}).get("Repository")):
        return ""
    place = address.removeprefix("https://github.com/")
    return (
        f"Without an installation: [the chapters in Binder](https://mybinder.org/v2/gh/{place}/main?urlpath=lab/tree/"
        f"notebooks). In [Colab](https://colab.research.google.com) one cell installs the library: `%pip install "
        f"git+{address}`."
    )


def parts(rows: list[dict], titles: dict[str, str]) -> dict[str, str]:
    """The parts by the names of their marks."""
    project = tomllib.loads((HERE / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return {"findings": findings(), "chapters": chapters(rows, titles), "links": links(project)}


def write(parts: dict[str, str], path: Path | None = None) -> None:
    """Puts each part between its marks in README.md. Raises RuntimeError where marks are missing."""
    path = path or README
    path.write_text(_replaced(path, parts), encoding="utf-8")


def check(parts: dict[str, str], path: Path | None = None) -> bool:
    """Whether README.md shows exactly these parts. Raises RuntimeError where marks are missing."""
    path = path or README
    return _replaced(path, parts) == path.read_text(encoding="utf-8")


def _replaced(path: Path, parts: dict[str, str]) -> str:
    """The text of the file with these parts between their marks."""
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    for name, part in parts.items():
        begin, end = f"<!-- {name} -->", f"<!-- /{name} -->"
        if text.count(begin) != 1 or text.count(end) != 1 or text.index(begin) > text.index(end):
            raise RuntimeError(f"{path.name} must hold {begin} and, after it, {end}, once each")
        before, after = text.split(begin)[0], text.split(end)[1]
        text = f"{before}{begin}\n{part}\n{end}{after}"
    return text
