"""PLACEHOLDER."""
from worldenv.worlds.reference.furniture import Piece, make
def make_person(seed: int) -> Piece:
    p = make("barrel", seed, (0.5, 1.7, 0.5))
    return p._replace(variant=f"person/{seed}")
