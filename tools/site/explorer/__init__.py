"""The models of the page docs/explorer: trained from seeds, and written as ONNX files.

KERAS_BACKEND=tensorflow python -m tools.site.explorer.make          # all files
KERAS_BACKEND=tensorflow python -m tools.site.explorer.make copy     # this one
"""
