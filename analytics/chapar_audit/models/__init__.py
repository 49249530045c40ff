"""The analytic models of the papers that the system follows, as functions over numbers and trees.

Each module is one model, with its errors corrected: a function with `printed_` in its name is the form as printed, kept
because published figures follow from it. Sections and equations are those of F. van Vliet, Content-based routing in
publish/subscribe systems with dynamic clients behaviour (2007), where a module names no other paper.
"""
