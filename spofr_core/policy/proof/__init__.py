"""Certificates, and the check of them that trusts nobody: it writes every formula a second time and uses no solver."""
