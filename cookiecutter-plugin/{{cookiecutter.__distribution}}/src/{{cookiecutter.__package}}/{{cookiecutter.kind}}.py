{% include cookiecutter.kind ~ "/component.py" %}
