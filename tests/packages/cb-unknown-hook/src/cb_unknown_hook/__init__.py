"""A hook with a letter missing."""


def cb_dataset():
    return []
