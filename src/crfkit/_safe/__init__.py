"""What protects users and their programs: private, and used by all rooms."""
