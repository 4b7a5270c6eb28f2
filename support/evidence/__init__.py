"""Records of runs, studies and sweeps, statistics, rules and verdicts."""
