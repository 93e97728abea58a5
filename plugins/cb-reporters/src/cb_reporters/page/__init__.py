"""The page that explores a result: its data, and the document around them.

The same page is one self-contained file (reporter `html`) and what a server shows for a run that
is in the store. They differ in where the page looks for examples:

- *inline*: everything is in the file. Columns of numbers for all rows, and the texts of examples
  in compressed chunks that the page inflates when it needs them.
- *remote*: the page asks the server that it came from, which filters, searches, sorts and pages
  through its rows. No more than what is on the screen is ever sent.

What a server has to answer
===========================

Addresses are relative to that of the page, so that it may stand under any prefix. All answers are
JSON in UTF-8; what cannot be answered has a status of 400 or above and `{"error": "why"}`.

`GET .` (the page)
    `document.render(result, survey, remote=True)`; with `live=True` while the run is still going. A
    `Survey` that has not read all rows gives a page that says so. It has its own
    Content-Security-Policy, which lets it ask its own origin and nothing else.

`GET data/examples?QUERY`
    The parameters are those of `Query.read`. Answer: `find(survey.index, query,
    result)`::

        {"total": 1204, "offset": 0, "examples": [LINE, …]}

    A LINE is one example in the list, as `ExampleIndex.line` makes it::

        {"example": 17, "dataset": "hotpotqa", "id": "5a8b", "repeat": 0,
         "text": "the beginning of the question",
         "cells": [[score or null, state, tokens or null] or null, …]}

    with one cell for each of the head's systems, in their order; the score is the one asked for,
    the state 0 (scored), 1 (the score is missing) or 2 (error).

`GET data/example?id=ID[&dataset=NAME][&repeat=N]`
    One example, opened: `open_example(result, survey.index, example)`; `ExampleIndex.locate` finds
    it. 404 where there is none.

`GET data/state`, asked every two seconds, and only by a page that was rendered `live` or of rows
that were not all read
    `{"version": "any text", "live": true, "told": "how far it is"}`. When the version is another
    than the one it was rendered with the page fetches itself anew, and puts what changed in its
    place; when it is the same and `live` false it stops asking. What is `told` is shown above
    the list.

Everything that is shown as text is data, never markup: a server needs to escape nothing in JSON.
"""
