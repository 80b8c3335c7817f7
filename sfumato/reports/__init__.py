"""Reports for people. The public one is made from the release alone; nothing here imports the private side."""
