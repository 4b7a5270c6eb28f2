"""What judges and publishes: records, measures, claims, chapters, figures, the site and its pages.

It imports `support`, the package of networks, training and geometry, and never the other way. `python -m book` is the
command line.
"""

import support  # noqa: F401  # it tells waiting threads to sleep, before torch is loaded
