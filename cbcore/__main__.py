"""`python -m cbcore` is `cb`."""

from cbcore.cli import main

main()
