"""Machine workers: a model answers the questions of an annotation form, under the rules that people work by.

`tasks` reads what is asked: a project, or a sheet of tasks. `interview` turns an item into a conversation and reads the
replies; the form itself checks each answer. `models` puts the conversations to `chat:` or `lm:`. `position` measures
whether answers depend on the order of the options. `job` does all of it and writes judgements of the kind `machine`.
"""
