"""The figures and claims of Liu, Scaglione and Peisert: as published, its baselines, and proven at the same budget."""
