"""A hook that asks for what it is not given."""


def cb_row_finished(row):
    print(row)
