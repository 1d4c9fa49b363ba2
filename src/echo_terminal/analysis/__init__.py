"""Statistics, tables and figures: pure functions over result tables."""
