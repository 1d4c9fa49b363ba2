"""Programs that read text and write text."""
