"""Terminals: one protocol, three engines, one behaviour."""
