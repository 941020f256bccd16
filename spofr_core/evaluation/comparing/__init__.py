"""One ranking beside others: paired by query, with intervals and tests, and the words in which rivals are named."""
