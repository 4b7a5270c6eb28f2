"""jupyter-book with a process for each core, which its own command line does not offer; every warning is an error.

python -m book.site.side_by_side SOURCE TARGET
"""

import os
import sys
from pathlib import Path

from jupyter_book.sphinx import build_sphinx

if __name__ == "__main__":
    source, target = map(Path, sys.argv[1:])
    result = build_sphinx(
        source.absolute(),
        str(target),
        noconfig=True,
        path_config=str(source / "_config.yml"),
        confoverrides={"nitpicky": True, "latex_individualpages": False},  # the second has no default
        warningiserror=True,
        keep_going=True,
        jobs=os.cpu_count() or 1,
    )
    sys.exit(result if isinstance(result, int) else 1)
