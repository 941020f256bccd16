"""What solves the programme: the exact solver with its kernels, and GLOP, behind one protocol."""
