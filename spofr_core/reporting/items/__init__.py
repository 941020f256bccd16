"""Each item on its own: its words, its chart and its section of the report."""
