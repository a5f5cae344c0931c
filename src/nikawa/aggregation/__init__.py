"""From judgements to gold: agreement, rules and models of aggregation, worker quality."""
