"""What the result says of memory systems beside the scores of every run."""
