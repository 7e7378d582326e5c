"""How the cases of Reference-v0's suites are found, checked, chosen and written down."""
