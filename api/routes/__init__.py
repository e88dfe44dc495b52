"""Which routes are there? One small file a family; each parses, calls one function of accounting and answers."""
