"""What tests share: small models, corpora, runs, and texts that are hard to read."""
