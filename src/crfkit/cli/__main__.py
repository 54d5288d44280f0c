"""``python -m crfkit.cli``."""

from crfkit.cli.main import main

if __name__ == "__main__":
    main()
