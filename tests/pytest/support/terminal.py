"""What a terminal would obey: control characters, and those that turn the direction of writing."""

from __future__ import annotations

import re

NOT_FOR_A_TERMINAL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e]")
