"""The command, as ``python -m anabranch``."""

from anabranch.cli import main

if __name__ == "__main__":
    main()
