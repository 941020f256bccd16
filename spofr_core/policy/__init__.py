"""The fair-ranking programme, its solvers, and the policies that they return."""
