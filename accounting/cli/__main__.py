"""`python -m accounting.cli`: the command for processes that start it with their own interpreter."""

from accounting.cli import main

main(prog_name="tokencogs")
