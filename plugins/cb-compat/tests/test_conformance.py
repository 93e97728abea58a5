"""The plugin keeps the contract between cb and its plugins."""

from __future__ import annotations

from cb_testing import check_plugin


def messages(example):
    """Messages for an example, made by hand."""
    return [{"role": "user", "content": str(example.get("question"))}]


def prompt(example):
    """A prompt for an example, made by hand."""
    return str(example.get("question"))


def test_conformance(server, claude):
    """Every rule of the kit holds for both systems, against a real endpoint and a command."""
    claude("cat")
    proxy = {
        "params": {"base_url": server.url()},
        "variants": {
            "base_url": server.url(),
            "build_messages": messages,
            "extra_body": {"top_p": 0.5},
        },
    }
    cli = {"params": {}, "variants": {"build_prompt": prompt}}
    examples = {"openai_proxy": proxy, "claude_cli": cli}
    check_plugin("cb-compat", examples=examples).assert_ok()
