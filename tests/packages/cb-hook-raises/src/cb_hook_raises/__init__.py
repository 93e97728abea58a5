"""A hook that fails, beside a static entry that would work."""


class System:
    """Answer nothing."""

    name = "unlucky"

    def process(self, example):
        return {"response": ""}


def cb_metrics():
    raise LookupError("the table of metrics is lost")
