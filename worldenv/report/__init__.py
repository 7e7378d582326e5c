"""Reports: the summary table, the self-contained HTML page, and the explanation of one score."""
