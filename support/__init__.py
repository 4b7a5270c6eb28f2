"""The support package of the book. Importing it loads nothing; `from support import diagnose` loads what it needs.

It sets one variable of the process, OMP_WAIT_POLICY, unless it is set: waiting threads of torch sleep.
"""

import os

from support.checkout import check

check()

# Waiting threads sleep. By default they spin, and then a second busy process makes a step many times slower. It must
# be set before torch is loaded; the kernels of chapters inherit it.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")


__version__ = "0.1.0"  # a test compares it with pyproject.toml


def __getattr__(name: str):
    if name == "diagnose":
        from support.diagnosis import diagnose

        return diagnose
    raise AttributeError(f"module 'support' has no attribute {name!r}")
