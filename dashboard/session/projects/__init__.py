"""What an auditor keeps besides the data: projects, notes, a name."""
