"""One ranking beside another: sentences, charts and the page about it."""
