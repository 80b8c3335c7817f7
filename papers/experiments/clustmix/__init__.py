"""Table 1 and the figures of Madl, Xu, Choudhury and Howard, drawn anew, and what their claims are worth."""
