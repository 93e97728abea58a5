"""A system of one's own, used by own.yaml."""


class FirstParagraphs:
    """Keeps the first paragraphs of the context."""

    def __init__(self, n: int = 1) -> None:
        self.n = n
        self.name = f"first {n}"

    def process(self, example):
        return {"context": "\n\n".join(example["context"].split("\n\n")[: self.n])}
