"""Task templates, one module a domain."""
