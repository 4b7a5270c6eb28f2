"""Sigmoid classifiers, and whether training magnifies space near their decision boundaries.

`specs` says what a run is and `study` which are run; `tasks` has the data, `stack` and `training` train many networks
at once; `views` looks at them with `geometry.boundary`, which turns the claim into numbers; `results` reads the runs,
`claims` judges them, `tables` and `pictures` show them.
"""
