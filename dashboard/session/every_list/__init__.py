"""What every list that is drawn has to hold, as an address and a session carry it."""
