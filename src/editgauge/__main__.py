"""`python -m editgauge`."""

from editgauge._cli import main

if __name__ == "__main__":
    main()
