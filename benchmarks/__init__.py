"""What the library costs, measured beside its peers."""
