"""Judging by vision-language models: what is asked, of whom, and how answers become scores."""
