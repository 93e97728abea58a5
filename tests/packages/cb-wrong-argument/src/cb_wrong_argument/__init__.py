"""A hook with an argument that the specification does not have."""


def cb_row_finished(event):
    print(event)
