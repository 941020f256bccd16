"""What a visitor sees of the login."""
