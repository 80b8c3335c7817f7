"""A release described for machines and catalogues: a registry entry, Croissant, a data card. Made from the bundle."""
