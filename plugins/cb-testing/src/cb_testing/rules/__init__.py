"""The rules that components of each kind are held to."""
