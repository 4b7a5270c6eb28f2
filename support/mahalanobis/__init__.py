"""Networks that learn the Mahalanobis distance to the mean of a Gaussian, and what their weights know of it.

`specs` says what a run is and `study` which are run; `gaussians` draws the data, `networks` has the three networks as
ordinary modules, `stack` and `training` train many of them at once; `measures` and `recovery` look at their weights,
`landscape` asks why a network stops short, `quadratic` is the exact optimum beside them; `results` reads the runs,
`claims` judges them, `tables` and `pictures` show them. `experiments` are three that the source only proposes.
"""
