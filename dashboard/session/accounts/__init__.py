"""Accounts of visitors, where the server asks for a login."""
