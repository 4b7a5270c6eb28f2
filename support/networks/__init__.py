"""What is trained, and on what: architectures and layers, data sets, toy tasks."""
