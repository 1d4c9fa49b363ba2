"""What a checkpoint can do (pass@k) and what it predicts (held-out cross-entropy, forecasts)."""
