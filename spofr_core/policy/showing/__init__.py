"""What readers see of a policy: rankings that are drawn, or served by a schedule."""
