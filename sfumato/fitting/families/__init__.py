"""How a family of tables is measured, and the model that is fitted to it: persons, then rows step by step."""
