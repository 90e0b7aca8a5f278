"""One feed, one machine, every way to synchronise it: what ./scripts/bench runs."""
