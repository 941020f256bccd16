"""Methods that learn to rank: one file a method."""
