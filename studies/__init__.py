"""Many-seed proofs: `make study` writes their tables into docs/studies/, `make test` runs three seeds of each."""
