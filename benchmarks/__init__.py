"""Speed, as ratios against named rivals in the same run: `make bench`."""
