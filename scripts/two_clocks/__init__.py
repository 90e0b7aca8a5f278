"""The command line of two_clocks, and the tools that replay its scenario."""

__version__ = "0.1.0"
