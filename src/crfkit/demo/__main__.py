"""``python -m crfkit.demo``: the same as ``crfkit demo``."""

import sys

from crfkit.cli import main

if __name__ == "__main__":
    sys.argv.insert(1, "demo")
    main()
