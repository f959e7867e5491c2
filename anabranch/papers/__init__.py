"""The published experiments, one file per source."""
