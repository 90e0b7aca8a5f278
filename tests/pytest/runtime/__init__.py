"""Tests of what runs dbt: the private server, the session, the command line, the demo."""
