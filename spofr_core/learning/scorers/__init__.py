"""What turns features into scores: one file a kind of scorer."""
