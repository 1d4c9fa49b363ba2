"""``set -x``: what bash shows of a command before it runs, where bashkit shows nothing or another depth."""

from __future__ import annotations

import re

TRACED = re.compile(r"\bset\s+(?:[-+]\w+\s+)*-\w*x|\bset\s+(?:\S+\s+)*-o\s+xtrace\b")
