"""`python -m nikawa`: the same as the command `nikawa`, for where that is not on the path."""

from nikawa.cli import main

if __name__ == "__main__":
    main()
