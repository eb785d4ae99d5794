"""Frames of sensors, hinges and axles, from markers and from the motion itself."""
