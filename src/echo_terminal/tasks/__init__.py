"""Machines, tasks, checks and the gates that tasks pass before anyone trains on them."""
