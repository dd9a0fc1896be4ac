"""`python -m millpond` is the command."""

from millpond.cli import main

if __name__ == "__main__":
    main()
