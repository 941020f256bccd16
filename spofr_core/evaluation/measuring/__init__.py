"""Measures by their names: what each is worth in each query, and over all of them."""
