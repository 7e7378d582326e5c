"""What all tests share."""

import os

# Workers that run tests side by side are told of a terminal 80 columns wide, which would cut the
# tables that tests read; a pipe has no width.
os.environ.pop("COLUMNS", None)
