"""Equations 1-3 and the loops that minimise them."""
