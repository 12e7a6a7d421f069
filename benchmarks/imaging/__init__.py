"""What `benchmarks.images` measures, each in a process of its own."""
