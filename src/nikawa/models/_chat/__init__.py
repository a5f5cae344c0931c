"""What `chat:` is made of: prompts, requests, the journal of replies and the reading of answers."""
