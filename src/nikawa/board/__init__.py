"""A leaderboard for a dataset with hidden test labels: accounts, submissions, scoring apart from the server, what is shown.

A board is a folder (`folder`, `settings`) and a database (`store`); `records` has its nouns. Submitters and their files come in
through `accounts` and `submissions`. `scorer` is the process that alone reads the labels; `queue` sends it work from the server. What is
shown to anybody but the owner is made by `reveal` from true scores, and by nothing else. `entries` adds the owner's own systems:
baselines, the human row, stored runs. `job` has the commands.
"""
