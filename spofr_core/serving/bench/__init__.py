"""The service measured: calls, requests beside an echo, and minutes under load."""
