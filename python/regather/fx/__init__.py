"""Captured training graphs: tracing them, and the ``.fx.json`` format."""
