"""What training minimises: one class a loss, with its maths."""
