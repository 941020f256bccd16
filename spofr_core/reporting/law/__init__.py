"""What rules that have a name of their own ask of selections, in words and tables."""
