"""What a custodian publishes and a receiver holds: the release, its bundle, its privacy statement, its verification."""
