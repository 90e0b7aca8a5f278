# Sourced by every script: makes .venv in the clone and installs what the script names. Nothing else installs anything.
#
#   bootstrap duckdb          # the command line and dbt for DuckDB
#   bootstrap dev postgres    # several extras of pyproject.toml at once
#
# A stamp, keyed by what is asked for and the interpreter, makes the second run free: no pip, no network.
#   TWO_CLOCKS_PYTHON       the interpreter to build with (default: the first of python3, python3.13 .. python3.10 that fits)
#   TWO_CLOCKS_VENV         where the environment lives (default: .venv in the clone)
#   TWO_CLOCKS_CONSTRAINTS  pip's constraints (default: scripts/constraints.txt)

set -euo pipefail

ROOT="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
VENV="${TWO_CLOCKS_VENV:-$ROOT/.venv}"
CONSTRAINTS="${TWO_CLOCKS_CONSTRAINTS:-$ROOT/scripts/constraints.txt}"
export ROOT VENV

# Often set where images are built. Here it would make each of the many dbt processes compile a thousand modules anew, which is half of a start.
unset PYTHONDONTWRITEBYTECODE

# dbt and its adapters report home unless told otherwise; a local demo has nothing to report.
export DBT_SEND_ANONYMOUS_USAGE_STATS="${DBT_SEND_ANONYMOUS_USAGE_STATS:-false}"

# Prints the first interpreter that dbt can run on. dbt does not promise anything past 3.13 yet, so newer ones come last.
find_python() {
  local wanted candidate
  for wanted in '(3, 10) <= v < (3, 14)' 'v >= (3, 10)'; do
    for candidate in ${TWO_CLOCKS_PYTHON:-python3 python3.13 python3.12 python3.11 python3.10}; do
      if "$candidate" -c "import sys; v = sys.version_info[:2]; sys.exit(not ($wanted))" 2>/dev/null; then
        echo "$candidate"
        return
      fi
    done
  done
  echo "two_clocks needs Python 3.10 or newer as python3 (or named by TWO_CLOCKS_PYTHON)." >&2
  return 2
}

# One word that changes when the requirements or the interpreter change.
fingerprint() {
  "$1" - "$ROOT/pyproject.toml" "$CONSTRAINTS" <<'PYTHON'
import hashlib, pathlib, sys
asked_for = b"".join(pathlib.Path(name).read_bytes() for name in sys.argv[1:])
print(hashlib.sha256(asked_for + sys.version.encode()).hexdigest()[:16])
PYTHON
}

bootstrap() {
  local extras python key missing=()
  python="$VENV/bin/python"
  if ! "$python" -c '' 2>/dev/null; then
    python="$(find_python)"
    echo "Making $VENV with $("$python" --version) ..." >&2
    "$python" -m venv --clear "$VENV" >&2 || {
      echo "$python could not make a virtual environment; on Debian and Ubuntu: apt-get install python3-venv." >&2
      return 2
    }
    python="$VENV/bin/python"
  fi

  key="$(fingerprint "$python")"
  for extra in "$@"; do
    [[ -e "$VENV/.two_clocks-$extra-$key" ]] || missing+=("$extra")
  done

  if ((${#missing[@]})); then
    # Everything that was asked for, not only what is missing: pip then resolves one consistent set.
    extras="$(IFS=,; echo "$*")"
    echo "Installing two-clocks[$extras] into $VENV ..." >&2
    "$python" -m pip install --no-compile --quiet --disable-pip-version-check --constraint "$CONSTRAINTS" \
      --editable "$ROOT[$extras]" >&2 || {
      echo "The packages could not be installed; see the lines above." >&2
      return 2
    }
    for extra in "$@"; do
      touch "$VENV/.two_clocks-$extra-$key"
    done
  fi
  export PATH="$VENV/bin:$PATH"
}
