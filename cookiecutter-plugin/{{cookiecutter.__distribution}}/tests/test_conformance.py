"""The plugin keeps the contract of `cb`: everything its kind is held to, checked by `cb` itself."""

from __future__ import annotations

from cb_testing import check_plugin


def test_the_installed_plugin_keeps_the_contract() -> None:
    check_plugin("{{ cookiecutter.__distribution }}").assert_ok()
