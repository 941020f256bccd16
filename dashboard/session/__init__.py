"""What a visitor has chosen, uploaded and saved, and what was computed for it."""
