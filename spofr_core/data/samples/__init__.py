"""What is bundled: one file a sample."""
