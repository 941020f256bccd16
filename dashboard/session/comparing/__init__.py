"""What the ranking on the screen is compared with, and both of them side by side."""
