"""A hook that returns the wrong thing."""


def cb_datasets():
    return ["wrong-data"]
