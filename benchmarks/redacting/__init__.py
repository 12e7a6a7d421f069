"""The parts of `benchmarks.redaction`: made-up values, the places that pages put them in, clean texts, peers."""
