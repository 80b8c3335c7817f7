"""What a release would be worth and what it would cost, before it is made: from public knowledge alone."""
