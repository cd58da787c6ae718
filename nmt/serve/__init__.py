"""A trained run and requests → translations in the browser and for programs."""
