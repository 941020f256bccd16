"""One slice of the queries, which every page is about until it is left."""
