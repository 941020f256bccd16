"""Results by slices of the queries and over time: per-query values in, frames with simultaneous intervals out."""
