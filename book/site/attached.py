"""papermill that ends with the process that started it, even if that one is killed and can say no more.

    python -m book.site.attached SOURCE COPY ...      # the arguments of papermill

Its standard input is a pipe whose other end only the starter holds. When the starter is gone, the pipe is at its end,
and papermill goes with its kernel. Otherwise both would train on for hours.
"""

import os
import threading
from functools import partial


def _watch() -> None:
    import psutil

    while os.read(0, 1024):  # not sys.stdin, whose lock the interpreter wants when it ends
        pass
    for process in psutil.Process().children(recursive=True):
        process.kill()
    os._exit(1)


if __name__ == "__main__":
    threading.Thread(target=_watch, daemon=True).start()
    from papermill import cli

    # a kernel whose cells are done has nothing left to say, and takes seconds to say it
    cli.execute_notebook = partial(cli.execute_notebook, shutdown_kernel="immediate")
    cli.papermill(prog_name="papermill")
