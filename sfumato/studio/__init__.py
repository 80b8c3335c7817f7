"""The studio: pages in the browser of a custodian, on this machine alone."""
