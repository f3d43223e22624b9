"""PatchTST-FM."""
