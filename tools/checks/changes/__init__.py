"""Changes of the kinds that are made most often, as patches of what is written by hand."""
