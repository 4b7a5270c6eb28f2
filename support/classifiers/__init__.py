"""Classifiers whose outputs are read as distances or as intensities, and what of that is true of trained ones.

`specs` says what a run is and `study` which are run; `ensemble` and `products` compute many networks at once, `stack`
and `training` train them; `results` reads the runs, `rules` and `claims` judge them, `tables`, `sentences` and
`pictures` show them. `hyperplanes`, `phases`, `prototypes`, `heads` and `class_metrics` each measure what one chapter
asks.
"""
