"""Trajectories in Delta tables, read through PySpark."""
