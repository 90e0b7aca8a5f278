"""`python -m two_clocks` is `two-clocks`."""

from two_clocks.cli import main

if __name__ == "__main__":
    main()
