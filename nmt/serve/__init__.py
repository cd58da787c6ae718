"""Requests of people and programs → translations by the models that are served."""
