bench-programs:
