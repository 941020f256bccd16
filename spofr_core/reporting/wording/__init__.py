"""Numbers and names in sentences, and sentences for readers without statistics."""
