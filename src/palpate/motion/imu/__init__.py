"""Inertial measurement units: their motion, noise, mounting, and whether they can be right."""
