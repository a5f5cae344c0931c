"""`python -m nikawa`: the same as the command `nikawa`, if that is not on the path."""

from nikawa.cli import main

if __name__ == "__main__":
    main()
