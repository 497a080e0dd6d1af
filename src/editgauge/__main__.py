"""`python -m editgauge`."""

from editgauge.cli import main

if __name__ == "__main__":
    main()
