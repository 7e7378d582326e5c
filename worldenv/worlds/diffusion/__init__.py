"""Worlds whose model runs in this process through diffusers; torch is imported at first reset."""
