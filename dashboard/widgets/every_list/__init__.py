"""What every list that is drawn has to hold: its control."""
