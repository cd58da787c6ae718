"""A model and source sentences → hypotheses with scores; beam search, sampling, ensembles, shortlists, int8."""
