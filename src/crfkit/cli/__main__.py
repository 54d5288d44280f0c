"""``python -m crfkit.cli``."""

from crfkit.cli import main

if __name__ == "__main__":
    main()
