"""A virtual object in closed loop: robot, person and hands around a model, and the audit of energy and stability."""
