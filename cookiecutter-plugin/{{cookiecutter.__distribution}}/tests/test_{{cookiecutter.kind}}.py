{% include cookiecutter.kind ~ "/test_component.py.jinja" %}
