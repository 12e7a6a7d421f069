"""What an answer says about going on: Retry-After, kinds of refusal, ladders of waits. Pure."""
