"""Generators trained on what was released, at no cost in privacy: from measurements to training data to a model."""
