"""Other people's physics, as small functions: what palpate is proven against. None of them imports palpate.

phi is palpate's [m, m c (3), Ixx, Ixy, Ixz, Iyy, Iyz, Izz] about the frame's origin; wrenches are [force; moment].
"""
