"""Commands on their way: taken in, issued, executed, retired."""
