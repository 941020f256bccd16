"""How far scores can be trusted as estimates of relevance, and what that is worth to a repair."""
