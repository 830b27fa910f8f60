"""``python -m regather``."""

import sys

from regather.cli import main

if __name__ == "__main__":
    sys.exit(main())
