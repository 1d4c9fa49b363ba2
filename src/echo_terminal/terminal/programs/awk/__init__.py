"""``awk`` after mawk 1.3.4."""
