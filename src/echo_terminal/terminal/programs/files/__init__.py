"""Programs that list, find, make, move and describe files."""
