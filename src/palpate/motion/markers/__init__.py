"""Motion capture: markers, the rigid bodies that they are on, and what goes wrong with them."""
