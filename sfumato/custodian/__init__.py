"""What a custodian does with a private table, from input to finished files: for the command line and the studio."""
