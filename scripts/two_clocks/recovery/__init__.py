"""Finding what fell into the gap, and bringing it back: what reconcile, backfill and repair share."""
