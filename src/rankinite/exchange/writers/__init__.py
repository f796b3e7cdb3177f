"""From plain models to the files of other libraries and engines: one file a format."""
