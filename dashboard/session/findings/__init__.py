"""What pages find out when they are asked to, remembered like the audit itself."""
