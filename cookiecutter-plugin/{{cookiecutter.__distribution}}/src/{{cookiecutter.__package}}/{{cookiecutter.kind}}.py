{% include cookiecutter.kind ~ "/component.py.jinja" %}
