"""The service as its callers meet it: real processes, real files, no stand-ins."""
