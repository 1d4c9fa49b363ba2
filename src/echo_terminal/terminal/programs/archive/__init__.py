"""``tar``, ``gzip``, ``xz``, ``zip``: archives and compressed files."""
