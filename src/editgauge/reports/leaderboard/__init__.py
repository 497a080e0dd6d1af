"""The verb `leaderboard`."""
