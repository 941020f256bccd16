"""Groups as they are wanted: renamed, merged, left out, or each item on its own."""
