"""The {{ cookiecutter.kind }} `{{ cookiecutter.__name }}` for cb."""
{% if cookiecutter.kind != "observer" %}

from {{ cookiecutter.__package }}.{{ cookiecutter.kind }} import {{ cookiecutter.__target }}

__all__ = ["{{ cookiecutter.__target }}"]
{% endif %}
