"""Files that are written whole or not at all, and archives of named members whose hashes are checked."""
