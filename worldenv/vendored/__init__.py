"""The wire libraries, copied unchanged, so that a world server installs nothing where it runs.

``websockets`` 15.0.1 (BSD-3-Clause; https://github.com/python-websockets/websockets) without its
asyncio and legacy parts and its C code, and ``msgpack`` 1.1.2 (Apache-2.0;
https://github.com/msgpack/msgpack-python) without its C code: the newest releases that run on
Python 3.9. Only the two ``__init__.py`` are ours; each folder holds its licence.
"""
