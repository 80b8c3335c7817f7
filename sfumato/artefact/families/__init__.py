"""The release of a family of tables: samples that hang together, answers, prediction, bundle, verification."""
