"""Parts of msgpack 1.1.2, see ``worldenv.vendored``: import the modules by name."""
