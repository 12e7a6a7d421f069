"""What the proof is judged by: the town's log, and what the crawl brought home. Pure functions and their readers."""
