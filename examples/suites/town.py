"""Functions that town.yaml names with `!function`."""


def people(documents):
    """The questions that are answered by words."""
    return documents.filter(lambda document: not _asks_for_a_number(document))


def numbers(documents):
    """The questions that are answered by a number."""
    return documents.filter(_asks_for_a_number)


def _asks_for_a_number(document):
    return all(choice.isdigit() for choice in document["choices"])
