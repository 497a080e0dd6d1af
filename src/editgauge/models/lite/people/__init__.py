"""Models that look at people: their faces and the poses of their bodies. No person is identified."""
