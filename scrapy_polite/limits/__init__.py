"""What a key may do, and when: GCRA, charges and plans, kinds and costs. Pure: no clock, no socket, no framework."""
