"""How can a step give more than one token a sequence without changing what is said? Drafts, verified by rejection sampling."""
