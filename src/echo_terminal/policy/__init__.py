"""The policy: tokenizer, weights, engines that sample from it."""
