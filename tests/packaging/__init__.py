"""What is given away: the wheel, the source distribution, the list of what they need, and the files of the forge."""
