"""echo-terminal: GRPO on what the agent types, cross-entropy on what the terminal says (arXiv 2605.24517)."""

__version__ = "0.1.0"
