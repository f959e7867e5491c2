"""Colours of plots."""

# Told apart by colour-blind eyes too.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
