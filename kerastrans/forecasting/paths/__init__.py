"""Joint sample paths of any forecaster, and what is read from them.

simulation   paths of the series of a frame
aggregates   sums and means over steps and series
events       peaks and first passages
"""
