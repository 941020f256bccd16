"""The boxes in which the owner of a file says what its columns are."""
