"""What a ledger says, for people: lines of releases and limits, sentences of what is left."""
