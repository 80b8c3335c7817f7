"""Post-processing: plans, mechanisms, models and generators. It sees the private table only through the curator."""
