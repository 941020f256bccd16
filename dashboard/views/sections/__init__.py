"""Parts of pages that are long enough for a file of their own."""
