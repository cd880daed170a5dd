"""`python -m smpmake`."""

from smpmake.cli import main

if __name__ == "__main__":
    main()
