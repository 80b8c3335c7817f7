"""`python -m sfumato` is `sfumato`."""

from sfumato.cli.app import main

main()
