"""Classical computer vision: geometry, color, registration, change detection."""
