"""Settings for every test: property tests draw the same examples on every machine, without a time limit."""

import os

from hypothesis import settings

os.environ.setdefault("OMP_NUM_THREADS", "1")  # two workers on two cores: no threads on top

settings.register_profile("repeatable", derandomize=True, deadline=None, max_examples=50)
settings.load_profile("repeatable")
