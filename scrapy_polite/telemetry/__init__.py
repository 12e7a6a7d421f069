"""What was booked and sent, written down, and what can be proved from it."""
