"""Measures of who stands in the first places of a ranking; of a lottery, their expectation over its rankings."""
