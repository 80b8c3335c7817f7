"""What a receiver holds. Models import nothing of the private side."""
