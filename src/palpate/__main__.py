"""python -m palpate: the same as the command."""

from palpate.cli import main

main()
