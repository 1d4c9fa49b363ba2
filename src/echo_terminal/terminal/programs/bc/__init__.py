"""``bc`` after GNU bc 1.07."""
