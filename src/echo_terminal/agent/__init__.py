"""The harness: prompt, tool call, transcript, episode, scripted agents."""
