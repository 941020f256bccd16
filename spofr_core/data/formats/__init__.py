"""How data gets in: one file a format."""
