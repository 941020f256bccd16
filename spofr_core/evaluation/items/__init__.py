"""What an audit finds where each item is on its own."""
