"""``patch`` after GNU patch 2.7.6."""
