"""How much several processes and a service under load do."""
