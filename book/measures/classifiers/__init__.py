"""Studies of classifiers, their arms, and the rules, tables and figures that several chapters share."""
