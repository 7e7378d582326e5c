"""Reference-v0: a real 3D scene rendered on the CPU, with depth, ids, pose and event truth."""
