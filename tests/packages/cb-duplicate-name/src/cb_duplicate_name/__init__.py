"""Another idea of answer quality."""


class Rival:
    """One for every answer."""

    name = "rival"
    emits = ("rival",)

    def score(self, original, processed):
        return {"rival": 1.0}
