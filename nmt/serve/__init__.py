"""Requests → answers: a server for people who open a browser, and for programs."""
