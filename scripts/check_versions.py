"""Exits with 1 unless dbt_project.yml, pyproject.toml, the Python package and CHANGELOG.md name the same version."""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]

# file -> how it says its version; of a changelog the newest release counts
PLACES = {
    "dbt_project.yml": r"^version:\s*[\"']?([^\s\"'#]+)",
    "pyproject.toml": r"^version\s*=\s*\"([^\"]+)\"",
    "scripts/two_clocks/__init__.py": r"^__version__\s*=\s*\"([^\"]+)\"",
    "CHANGELOG.md": r"^##\s*\[?v?(\d+\.\d+\.\d+[^\]\s]*)",
}


def main() -> int:
    versions = {}
    for name, pattern in PLACES.items():
        found = re.search(pattern, (ROOT / name).read_text(encoding="utf-8"), re.MULTILINE)
        versions[name] = found.group(1) if found else "no version"
    if len(set(versions.values())) == 1:
        return 0
    told = ", ".join(f"{name} says {version}" for name, version in versions.items())
    sys.stderr.write(f"The versions disagree: {told}.\n")
    return 1


if __name__ == "__main__":
    sys.exit(main())
