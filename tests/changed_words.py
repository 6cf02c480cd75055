"""Words of a command with some of its options given otherwise."""


def changed(words, *options):
    """Leave out the options of `words` that `options` give, and add these."""
    given = {word for word in options if str(word).startswith("--")}
    kept, dropping = [], False
    for word in words:
        if str(word).startswith("--"):
            dropping = word in given
        if not dropping:
            kept.append(word)
    return [*kept, *options]
