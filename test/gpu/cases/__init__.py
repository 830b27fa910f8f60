"""What the GPU kit runs, one module for each family of cases."""
