"""Linear algebra with one thread: its matrices are small, and tests share the processors already."""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
