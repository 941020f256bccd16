"""The commands: a file each, with its `register(app)`."""
