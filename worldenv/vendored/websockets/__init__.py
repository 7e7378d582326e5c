"""Parts of websockets 15.0.1, see ``worldenv.vendored``: import the modules by name."""
