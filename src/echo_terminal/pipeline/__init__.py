"""Parameters, the notebook runner, provenance."""
