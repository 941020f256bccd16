"""What faults do: kills, full and read-only disks, clocks, two at once, machines that go away."""
