"""What judges and publishes: records, measures, claims, chapters, figures, the site and its pages.

It imports `support`, the package of networks, training and geometry, and never the other way. `python -m book` is the
command line.
"""

import support  # noqa: F401  # it tells waiting threads to sleep, before torch is loaded
from support.checkout import refuse

if (
    not __debug__
):  # the experiments by hand and the primer check themselves by `assert`; they would agree with anything
    refuse("Python leaves out the asserts of the notebooks here: start it without -O, and unset PYTHONOPTIMIZE")
