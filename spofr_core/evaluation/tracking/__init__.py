"""Results in the experiment trackers that teams use already."""
