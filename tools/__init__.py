"""What makes the tables of the package from published lists. Not installed with it."""
