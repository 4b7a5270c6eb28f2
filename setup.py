"""What pyproject.toml cannot say: `book` is installed from a clone (`pip install -e`) and is in no wheel.

It reads the records, notebooks and pages of its clone, and its name is too common to put beside other projects.
"""

from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py
from setuptools.command.egg_info import egg_info


class Library(build_py):
    """Leaves `book` out, except of an editable install."""

    def finalize_options(self):
        """Drops the packages of `book`."""
        super().finalize_options()
        if not self.editable_mode:
            self.packages = [name for name in self.packages if name.split(".")[0] != "book"]


class Names(egg_info):
    """Names the library alone as what is imported."""

    def run(self):
        """Writes the metadata, and top_level.txt once more."""
        super().run()
        (Path(self.egg_info) / "top_level.txt").write_text("support\n")


setup(cmdclass={"build_py": Library, "egg_info": Names})
