"""What is measured of a ranking or a policy, per query first."""
