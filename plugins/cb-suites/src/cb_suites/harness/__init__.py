"""Tasks in the words of lm-evaluation-harness, run by its rules.

What a file of that harness says means here what it means there, down to the delimiters of a
prompt and the way a number is summed up; what cannot be done so is refused, with the reason.
"""
