"""The plugin keeps the contract of `cb`: everything its kind is held to, checked by `cb` itself."""

from __future__ import annotations

{% if cookiecutter.kind == "extension" %}
from typing import Any

{% endif %}
from cb_testing import check_plugin
{% if cookiecutter.kind == "extension" %}

EXAMPLES: dict[str, Any] = {"{{ cookiecutter.__name }}": {"params": {"files": []}}}
{% endif %}


def test_the_installed_plugin_keeps_the_contract() -> None:
{% if cookiecutter.kind == "extension" %}
    check_plugin("{{ cookiecutter.__distribution }}", examples=EXAMPLES).assert_ok()
{% else %}
    check_plugin("{{ cookiecutter.__distribution }}").assert_ok()
{% endif %}
