"""From the files of other libraries and engines to plain models: one file a format."""
