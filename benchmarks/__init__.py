"""Speed and memory, side by side with a named peer in one run."""
