"""One file a page: it reads the state, calls spofr_core and draws."""
