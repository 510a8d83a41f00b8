"""Where the memory is kept: ports, the repositories both engines share, and the engines themselves."""
