"""From a table in any format to a dataset: which column is what, groups, checks."""
