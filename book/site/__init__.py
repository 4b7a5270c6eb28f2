"""From chapters to a static site, and the checks of what it prints."""
